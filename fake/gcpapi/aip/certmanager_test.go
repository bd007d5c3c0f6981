package aip_test

import (
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	cm "cloud.google.com/go/certificatemanager/apiv1/certificatemanagerpb"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
	"gatehouse.dev/fake/gcpapi/store"
)

// Why: a trust config is rotated in place, by etag, and a refused write has no effect.
func TestTrustConfigRotates(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	a, b := pkitest.New(t, "a"), pkitest.New(t, "b")
	made := must[*cm.TrustConfig](w)(w.trusts("mesh", trust(a)))
	if made.Name != global+"/trustConfigs/mesh" || made.Etag == "" || made.CreateTime.AsTime() != start {
		t.Fatalf("made %v", made)
	}
	next := trust(a, b)
	next.Name, next.Etag = made.Name, made.Etag
	update := func(c *cm.TrustConfig, paths ...string) error {
		_, err := w.certs.UpdateTrustConfig(t.Context(), &cm.UpdateTrustConfigRequest{TrustConfig: c, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		return err
	}
	w.wants(update(next, "trust_stores"), 0, "")
	w.wants(update(next, "trust_stores"), 409, "")
	got := must[*cm.TrustConfig](w)(w.certs.GetTrustConfig(t.Context(), &cm.GetTrustConfigRequest{Name: made.Name}))
	if len(got.TrustStores[0].TrustAnchors) != 2 || got.Etag == made.Etag {
		t.Errorf("after the patch: %v", got)
	}
	next.Etag = ""
	w.wants(update(next, "create_time"), 400, "paths not permitted")
	w.wants(update(next, "nonsense"), 400, "nvalid")
	w.wants(update(next), 400, "update_mask")
	_, err := w.certs.DeleteTrustConfig(t.Context(), &cm.DeleteTrustConfigRequest{Name: made.Name, Etag: made.Etag})
	w.wants(err, 409, "")
	_, err = w.certs.DeleteTrustConfig(t.Context(), &cm.DeleteTrustConfigRequest{Name: made.Name, Etag: got.Etag})
	w.wants(err, 0, "")
	_, err = w.certs.GetTrustConfig(t.Context(), &cm.GetTrustConfigRequest{Name: made.Name})
	w.wants(err, 404, "not found")
}

// Why: the limits of a trust store, and what a CA certificate may be.
func TestTrustConfigLimits(t *testing.T) {
	root := pkitest.New(t, "root")
	repeat := func(n int, c *pkitest.Pair) *cm.TrustConfig {
		out := trust()
		for range n {
			out.TrustStores[0].TrustAnchors = append(out.TrustStores[0].TrustAnchors, trust(c).TrustStores[0].TrustAnchors...)
		}
		return out
	}
	between := func(n int, name string) *cm.TrustConfig {
		out := trust(root)
		for i := range n {
			if strings.HasSuffix(name, "%d") {
				root = pkitest.New(t, fmt.Sprintf(name, i))
			}
			out.TrustStores[0].IntermediateCas = append(out.TrustStores[0].IntermediateCas, &cm.TrustConfig_IntermediateCA{Kind: &cm.TrustConfig_IntermediateCA_PemCertificate{PemCertificate: root.PEM()}})
		}
		return out
	}
	big := pkitest.New(t, "big", func(c *x509.Certificate) {
		for i := range 200 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("a-rather-long-name-of-a-host-%d.example.com", i))
		}
	})
	for _, c := range []struct {
		name   string
		config *cm.TrustConfig
		text   string // "" is accepted
	}{
		{"200 anchors", repeat(200, root), ""},
		{"201 anchors", repeat(201, root), "200"},
		{"101 intermediates", between(101, "between %d"), "100"},
		{"three twins", between(3, "twin"), ""},
		{"four twins", between(4, "twin"), "same subject"},
		{"a large certificate", trust(big), "5120 bytes"},
		{"no PEM", &cm.TrustConfig{TrustStores: []*cm.TrustConfig_TrustStore{{TrustAnchors: []*cm.TrustConfig_TrustAnchor{{Kind: &cm.TrustConfig_TrustAnchor_PemCertificate{PemCertificate: "x"}}}}}}, "PEM"},
		{"two stores", &cm.TrustConfig{TrustStores: append(trust(root).TrustStores, trust(root).TrustStores...)}, "one trust store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, gcpapi.Config{})
			status := 400
			if c.text == "" {
				status = 0
			}
			_, err := w.trusts("mesh", c.config)
			w.wants(err, status, c.text)
		})
	}
	curve := pkitest.New(t, "P-521", func(c *x509.Certificate) {})
	leaf := curve.LeafWith(t, pkitest.Key(t, elliptic.P521()), nil)
	for refuses, status := range map[bool]int{true: 400, false: 0} {
		w := newWorld(t, gcpapi.Config{Undocumented: gcpapi.Undocumented{RefuseUnfit: refuses}})
		_, err := w.trusts("mesh", &cm.TrustConfig{TrustStores: []*cm.TrustConfig_TrustStore{{TrustAnchors: []*cm.TrustConfig_TrustAnchor{{Kind: &cm.TrustConfig_TrustAnchor_PemCertificate{PemCertificate: leaf.PEM()[:len(leaf.PEM())]}}}}}})
		w.wants(err, status, "CA")
	}
}

// Why: a certificate of a client is rotated in place with both halves, and its key never
// comes back.
func TestClientCertificateRotates(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	root := pkitest.New(t, "root")
	first, second := root.Leaf(t, []string{"a.example.com", "spiffe://td/ns/a/sa/b"}), root.Leaf(t, []string{"b.example.com"})
	made := must[*cm.Certificate](w)(w.certifies("client", identity(t, cm.Certificate_CLIENT_AUTH, first)))
	if made.Scope != cm.Certificate_CLIENT_AUTH || made.PemCertificate != first.PEM() || len(made.SanDnsnames) != 1 || made.ExpireTime.AsTime().Unix() != first.Cert.NotAfter.Unix() {
		t.Errorf("made %v", made)
	}
	if made.GetSelfManaged().GetPemPrivateKey() != "" || strings.Contains(fmt.Sprint(w.Dump()), "PRIVATE KEY") {
		t.Error("the key came back")
	}
	update := func(c *cm.Certificate, paths ...string) error {
		c.Name = made.Name
		_, err := w.certs.UpdateCertificate(t.Context(), &cm.UpdateCertificateRequest{Certificate: c, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		return err
	}
	w.wants(update(identity(t, cm.Certificate_CLIENT_AUTH, second), "self_managed"), 0, "")
	got := must[*cm.Certificate](w)(w.certs.GetCertificate(t.Context(), &cm.GetCertificateRequest{Name: made.Name}))
	if got.PemCertificate != second.PEM() || got.SanDnsnames[0] != "b.example.com" {
		t.Errorf("after the patch: %v", got)
	}
	w.wants(update(identity(t, cm.Certificate_DEFAULT, first), "scope"), 400, "not permitted")
	torn := identity(t, cm.Certificate_CLIENT_AUTH, first)
	torn.GetSelfManaged().PemPrivateKey = second.KeyPEM(t)
	w.wants(update(torn, "self_managed"), 400, "not the certificate's")
}

// Why: what a certificate must be, for its scope and by itself.
func TestCertificates(t *testing.T) {
	root := pkitest.New(t, "root")
	leaf := root.Authority(t, "between").Leaf(t, []string{"a"})
	server := root.Leaf(t, []string{"a"}, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	reversed := identity(t, cm.Certificate_DEFAULT, leaf)
	chain := leaf.PEM()
	cut := strings.Index(chain, "-----END CERTIFICATE-----\n") + len("-----END CERTIFICATE-----\n")
	reversed.GetSelfManaged().PemCertificate = chain[cut:] + chain[:cut]
	for _, c := range []struct {
		name string
		cert *cm.Certificate
		text string
	}{
		{"chain", identity(t, cm.Certificate_DEFAULT, leaf), ""},
		{"reversed", reversed, "out of order"},
		{"client without clientAuth", identity(t, cm.Certificate_CLIENT_AUTH, server), "clientAuth"},
		{"client that is a CA", identity(t, cm.Certificate_CLIENT_AUTH, root), "CA"},
		{"P-521", identity(t, cm.Certificate_DEFAULT, root.LeafWith(t, pkitest.Key(t, elliptic.P521()), nil)), "P-384"},
		{"neither", &cm.Certificate{}, "exactly one"},
		{"no key", &cm.Certificate{Type: &cm.Certificate_SelfManaged{SelfManaged: &cm.Certificate_SelfManagedCertificate{PemCertificate: leaf.PEM()}}}, "pem_private_key"},
		{"managed", &cm.Certificate{Type: &cm.Certificate_Managed{Managed: &cm.Certificate_ManagedCertificate{Domains: []string{"a.com"}}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, gcpapi.Config{})
			status := 400
			if c.text == "" {
				status = 0
			}
			_, err := w.certifies("c", c.cert)
			w.wants(err, status, c.text)
		})
	}
}

// Why: maps keep their entries, and entries their certificates, in use; both sides show.
func TestCertificateMaps(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	leaf := pkitest.New(t, "root").Leaf(t, []string{"a.example.com"})
	cert := must[*cm.Certificate](w)(w.certifies("web", identity(t, cm.Certificate_DEFAULT, leaf)))
	client := must[*cm.Certificate](w)(w.certifies("client", identity(t, cm.Certificate_CLIENT_AUTH, leaf)))
	_, err := w.certs.CreateCertificateMap(t.Context(), &cm.CreateCertificateMapRequest{Parent: global, CertificateMapId: "m", CertificateMap: &cm.CertificateMap{}})
	w.wants(err, 0, "")
	enter := func(id, hostname string, certificates ...string) error {
		_, err := w.certs.CreateCertificateMapEntry(t.Context(), &cm.CreateCertificateMapEntryRequest{Parent: global + "/certificateMaps/m", CertificateMapEntryId: id,
			CertificateMapEntry: &cm.CertificateMapEntry{Match: &cm.CertificateMapEntry_Hostname{Hostname: hostname}, Certificates: certificates}})
		return err
	}
	w.wants(enter("a", "a.example.com", cert.Name), 0, "")
	w.wants(enter("b", "a.example.com", cert.Name), 409, "same hostname")
	w.wants(enter("c", "*.example.com"), 400, "from 1 to 4")
	w.wants(enter("d", "*.example.com", client.Name), 400, "CLIENT_AUTH")
	w.wants(enter("e", "*.example.com", global+"/certificates/none"), 404, "not found")
	got := must[*cm.Certificate](w)(w.certs.GetCertificate(t.Context(), &cm.GetCertificateRequest{Name: cert.Name}))
	if len(got.UsedBy) != 1 || !strings.HasSuffix(got.UsedBy[0].Name, "/certificateMaps/m/certificateMapEntries/a") {
		t.Errorf("used by %v", got.UsedBy)
	}
	_, err = w.certs.DeleteCertificate(t.Context(), &cm.DeleteCertificateRequest{Name: cert.Name})
	w.wants(err, 400, "referenced by")
	_, err = w.certs.DeleteCertificateMap(t.Context(), &cm.DeleteCertificateMapRequest{Name: global + "/certificateMaps/m"})
	w.wants(err, 400, "referenced by")
	_, err = w.certs.CreateCertificateMap(t.Context(), &cm.CreateCertificateMapRequest{Parent: "projects/test-project/locations/us-central1", CertificateMapId: "m", CertificateMap: &cm.CertificateMap{}})
	w.wants(err, 400, "global")
	_, err = w.certs.CreateCertificateMap(t.Context(), &cm.CreateCertificateMapRequest{Parent: "projects/test-project/locations/nowhere", CertificateMapId: "m", CertificateMap: &cm.CertificateMap{}})
	w.wants(err, 403, "nowhere")
}

// Why: operations take time, are polled by their name, and a read sees nothing before.
func TestOperationsTakeTime(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Times: store.Times{Operations: map[string]time.Duration{"": 5 * time.Second}}})
	op := must[interface {
		Done() bool
		Name() string
	}](w)(w.certs.CreateTrustConfig(t.Context(), &cm.CreateTrustConfigRequest{Parent: global, TrustConfigId: "mesh", TrustConfig: trust(pkitest.New(t, "a"))}))
	again := w.certs.CreateTrustConfigOperation(op.Name())
	if got, err := again.Poll(t.Context()); got != nil || err != nil || again.Done() {
		t.Errorf("at once: %v, %v", got, err)
	}
	_, err := w.certs.GetTrustConfig(t.Context(), &cm.GetTrustConfigRequest{Name: global + "/trustConfigs/mesh"})
	w.wants(err, 404, "")
	w.clock.Advance(5 * time.Second)
	got, err := again.Poll(t.Context())
	if err != nil || got.GetName() != global+"/trustConfigs/mesh" {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	if meta, err := again.Metadata(); err != nil || meta.Verb != "create" || meta.Target != global+"/trustConfigs/mesh" {
		t.Errorf("metadata %v, %v", meta, err)
	}
	w.SetFaults(gcpapi.Fault{Method: "certificatemanager.", Kind: gcpapi.Fail, Message: "no luck", Times: 1})
	failing := must[interface {
		Name() string
	}](w)(w.certs.DeleteTrustConfig(t.Context(), &cm.DeleteTrustConfigRequest{Name: global + "/trustConfigs/mesh"}))
	w.clock.Advance(5 * time.Second)
	if err := w.certs.DeleteTrustConfigOperation(failing.Name()).Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("the operation ends with %v", err)
	}
}

// Why: lists come in pages, by label, and over all locations.
func TestLists(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	for i := range 5 {
		c := trust(pkitest.New(t, "a"))
		c.Labels = map[string]string{"odd": fmt.Sprint(i % 2)}
		must[*cm.TrustConfig](w)(w.trusts(fmt.Sprint("t", i), c))
	}
	for name, c := range map[string]struct {
		request *cm.ListTrustConfigsRequest
		want    int
	}{
		"pages":         {&cm.ListTrustConfigsRequest{Parent: global, PageSize: 2}, 5},
		"label":         {&cm.ListTrustConfigsRequest{Parent: global, Filter: "labels.odd=1"}, 2},
		"all locations": {&cm.ListTrustConfigsRequest{Parent: "projects/test-project/locations/-"}, 5},
		"elsewhere":     {&cm.ListTrustConfigsRequest{Parent: "projects/test-project/locations/us-central1"}, 0},
	} {
		it, n := w.certs.ListTrustConfigs(t.Context(), c.request), 0
		for {
			if _, err := it.Next(); errors.Is(err, iterator.Done) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != c.want {
			t.Errorf("%s: %d, want %d", name, n, c.want)
		}
	}
	calls := w.Count(gcpapi.ByMethod)
	if got := calls["certificatemanager.projects.locations.trustConfigs.list"]; got != 6 {
		t.Errorf("%d calls to list, want 3 pages and 3", got)
	}
}

// Why: 300 calls a minute, and no more.
func TestRate(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Rates: gcpapi.Rates()})
	read := func() error {
		_, err := w.certs.GetTrustConfig(t.Context(), &cm.GetTrustConfigRequest{Name: global + "/trustConfigs/none"})
		return err
	}
	for range 300 {
		w.wants(read(), 404, "")
	}
	w.wants(read(), 429, "Quota exceeded")
	w.clock.Advance(time.Minute)
	w.wants(read(), 404, "")
}
