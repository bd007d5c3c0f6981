package kubeca

import (
	"encoding/base64"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

// found are what the conditions of a CertificateRequest say.
type found struct {
	refused  string // why it is; "" is not
	approved bool
	ready    bool
	waits    string // what its issuer says of it
}

func conditionsOf(o *unstructured.Unstructured) (out found) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, condition := range conditions {
		at := func(key string) string {
			m, _ := condition.(map[string]any)
			text, _ := m[key].(string)
			return text
		}
		is := at("status") == "True"
		switch kind := at("type"); {
		case is && (kind == "Denied" || kind == "InvalidRequest"), kind == "Ready" && !is && at("reason") == "Failed":
			out.refused = kind + ": " + at("reason") + " " + at("message")
		case kind == "Approved":
			out.approved = is
		case kind == "Ready":
			out.ready, out.waits = is, at("message")
		}
	}
	return out
}

// read is what became of a request.
func (c *CertManager) read(o *unstructured.Unstructured) (meshsync.Issued, error) {
	name, got := c.config.Namespace+"/"+o.GetName(), conditionsOf(o)
	switch {
	case got.refused != "":
		return meshsync.Issued{}, denied(opRequest, "CertificateRequest %s: %.400s; another is made an hour later, or when this one is deleted", name, got.refused)
	case got.ready:
		return c.chain(o)
	case strings.HasPrefix(got.waits, "Referenced ") && strings.Contains(got.waits, "not found"): // cert-manager's words
		return meshsync.Issued{}, pending(opRequest, "CertificateRequest %s waits for an issuer that is not there: make %s, in %s if it has a namespace, or correct issuerRef: %.200s",
			name, c.config.Issuer, c.config.Namespace, got.waits)
	case got.waits != "":
		return meshsync.Issued{}, pending(opRequest, "CertificateRequest %s is not signed yet: %.200s", name, got.waits)
	case got.approved:
		return meshsync.Issued{}, pending(opRequest, "CertificateRequest %s is approved and waits for %s: see that there is one, and that its controller runs", name, c.config.Issuer)
	default:
		return meshsync.Issued{}, pending(opRequest, "CertificateRequest %s waits for approval: cert-manager approves by itself unless that is switched off; "+
			"then a CertificateRequestPolicy must allow it, or somebody: cmctl approve -n %s %s", name, c.config.Namespace, o.GetName())
	}
}

// chain does not read status.ca: it is one root at best.
func (c *CertManager) chain(o *unstructured.Unstructured) (meshsync.Issued, error) {
	text, _, _ := unstructured.NestedString(o.Object, "status", "certificate")
	pem, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return meshsync.Issued{}, denied(opRequest, "CertificateRequest %s: its certificate is not base64", o.GetName())
	}
	chain, err := issue.ParseChain(pem)
	if err != nil {
		return meshsync.Issued{}, denied(opRequest, "CertificateRequest %s: its certificate: %w", o.GetName(), err)
	}
	return meshsync.Issued{Chain: chain}, nil
}
