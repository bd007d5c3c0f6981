package demo

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"text/template"
)

// The names that examples/shop uses.
const (
	edgeID = "spiffe://cluster.local/ns/edge/sa/gatehouse-shop"
	site   = "www.shop.test"
)

// material is what examples/shop/certificates.yaml holds: the site's certificate,
// the gateway's mesh identity, and the mesh's roots.
type material struct {
	site, edge *leaf
	roots      []*authority
}

const certificatesHeader = `# Throw-away certificates of this example, with their keys: public on purpose,
# trusted by nothing. Never use them elsewhere. Written by
#   gatehouse demo --write-certificates examples/shop/certificates.yaml
# (docs/decisions/0010 says why they are here; the demo itself makes new ones).
`

// siteYAML is the certificate of the shop's site.
func siteYAML(l *leaf) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata:
  name: shop-tls
  namespace: edge
type: kubernetes.io/tls
data:
  tls.crt: %s
  tls.key: %s
`, b64(l.certPEM), b64(l.keyPEM))
}

var meshYAML = template.Must(template.New("").Parse(`---
# What a mesh's CA would issue to the gateway's own service account.
apiVersion: v1
kind: Secret
metadata:
  name: edge-mesh-identity
  namespace: edge
type: kubernetes.io/tls
data:
  tls.crt: {{.EdgeCert}}
  tls.key: {{.EdgeKey}}
---
# What a mesh publishes: its CA roots, old and new ones while it rotates.
apiVersion: v1
kind: ConfigMap
metadata:
  name: mesh-roots
  namespace: checkout
data:
  ca.crt: |
{{.Roots}}`))

// yaml is the material as Kubernetes objects.
func (m material) yaml() ([]byte, error) {
	var roots bytes.Buffer
	for _, r := range m.roots {
		for line := range bytes.Lines(r.pem()) {
			roots.WriteString("    ")
			roots.Write(line)
		}
	}
	out := bytes.NewBuffer(siteYAML(m.site))
	b64 := base64.StdEncoding.EncodeToString
	err := meshYAML.Execute(out, map[string]string{
		"EdgeCert": b64(m.edge.certPEM), "EdgeKey": b64(m.edge.keyPEM),
		"Roots": roots.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return out.Bytes(), nil
}

// ExampleCertificates is the content of examples/shop/certificates.yaml, made
// anew: it differs each time.
func ExampleCertificates() ([]byte, error) {
	mesh, err := newAuthority("mesh CA 1", century)
	if err != nil {
		return nil, err
	}
	public, err := newAuthority("shop site CA", century)
	if err != nil {
		return nil, err
	}
	m := material{roots: []*authority{mesh}}
	if m.site, err = public.issue("", site, "*.shop.test"); err != nil {
		return nil, err
	}
	if m.edge, err = mesh.issue(edgeID); err != nil {
		return nil, err
	}
	text, err := m.yaml()
	return append([]byte(certificatesHeader), text...), err
}
