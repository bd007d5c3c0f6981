package istio

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// The annotations of a Service that name further identities of its pods.
const (
	accountsAnnotation  = "alpha.istio.io/kubernetes-serviceaccounts" // ServiceAccounts of its namespace
	canonicalAnnotation = "alpha.istio.io/canonical-serviceaccounts"  // whole identities
)

const spiffe = "spiffe://"

// namesOf are whom a pod's certificate may name: its ServiceAccount in each of the
// mesh's trust domains, so that a change of trust domain changes nothing as long
// as the old one is an alias, and whom the Service's annotations add. They are
// none where the pod is not the Service's own: its certificate says nothing then.
func namesOf(m meshsync.Mesh, svc *corev1.Service, account meshsync.Account) []lbmodel.SAN {
	if account.Namespace != svc.Namespace || m.TrustDomain == "" {
		return nil
	}
	names := identities(m, account)
	for _, sa := range listed(svc, accountsAnnotation) {
		if len(validation.IsDNS1123Subdomain(sa)) == 0 {
			names = append(names, identities(m, meshsync.Account{Namespace: svc.Namespace, Name: sa})...)
		}
	}
	for _, id := range listed(svc, canonicalAnnotation) {
		names = append(names, canonical(m, id)...)
	}
	var out []lbmodel.SAN
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func identities(m meshsync.Mesh, a meshsync.Account) []lbmodel.SAN {
	out := make([]lbmodel.SAN, len(m.TrustDomains))
	for i, td := range m.TrustDomains {
		out[i] = uri(td, "/ns/"+a.Namespace+"/sa/"+a.Name)
	}
	return out
}

// canonical is an identity as it stands and in the mesh's other trust domains, as
// Istio's own clients expand it. What is no SPIFFE ID is the name of a host.
func canonical(m meshsync.Mesh, id string) []lbmodel.SAN {
	rest, ok := strings.CutPrefix(id, spiffe)
	if !ok {
		if len(validation.IsDNS1123Subdomain(id)) > 0 {
			return nil
		}
		return []lbmodel.SAN{{Kind: lbmodel.SANDNS, Value: id}}
	}
	td, path, _ := strings.Cut(rest, "/")
	if parts := strings.Split(path, "/"); !trustDomain.MatchString(td) || len(parts) != 4 || parts[0] != "ns" || parts[2] != "sa" || parts[1] == "" || parts[3] == "" {
		return nil
	}
	out := []lbmodel.SAN{uri(td, "/"+path)}
	for _, alias := range m.TrustDomains[1:] {
		out = append(out, uri(alias, "/"+path))
	}
	return out
}

func uri(trustDomain, path string) lbmodel.SAN {
	return lbmodel.SAN{Kind: lbmodel.SANURI, Value: spiffe + trustDomain + path}
}

// listed are the items of an annotation, which commas part.
func listed(svc *corev1.Service, annotation string) []string {
	text := svc.Annotations[annotation]
	if text == "" {
		return nil
	}
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// ClientPrefixes are how the URI names of clients must begin for a sidecar to let
// them in: all identities of the mesh's trust domains, and of those whose roots its
// configuration adds. Gateways of the mesh ask only for a root that they trust.
func ClientPrefixes(m meshsync.Mesh) []string {
	s, _ := m.Settings.(Settings)
	out := make([]string, len(s.Clients))
	for i, td := range s.Clients {
		out[i] = spiffe + td + "/"
	}
	return out
}
