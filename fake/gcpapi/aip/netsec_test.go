package aip_test

import (
	"testing"

	cm "cloud.google.com/go/certificatemanager/apiv1/certificatemanagerpb"
	ns "cloud.google.com/go/networksecurity/apiv1/networksecuritypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

// Why: a backend authentication config holds what is there, of the right scope and
// place, keeps it in use, and cannot be turned to anything else.
func TestBackendAuthentication(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	root := pkitest.New(t, "root")
	leaf := root.Leaf(t, []string{"a"})
	trusted := must[*cm.TrustConfig](w)(w.trusts("mesh", trust(root)))
	other := must[*cm.TrustConfig](w)(w.trusts("other", trust(root)))
	client := must[*cm.Certificate](w)(w.certifies("client", identity(t, cm.Certificate_CLIENT_AUTH, leaf)))
	web := must[*cm.Certificate](w)(w.certifies("web", identity(t, cm.Certificate_DEFAULT, leaf)))
	for _, c := range []struct {
		name   string
		config *ns.BackendAuthenticationConfig
		status int
		text   string
	}{
		{"nobody validates", &ns.BackendAuthenticationConfig{ClientCertificate: client.Name}, 400, "trust_config is required"},
		{"wrong scope", &ns.BackendAuthenticationConfig{ClientCertificate: web.Name, TrustConfig: trusted.Name}, 400, "CLIENT_AUTH"},
		{"missing", &ns.BackendAuthenticationConfig{TrustConfig: global + "/trustConfigs/none"}, 404, "not found"},
		{"elsewhere", &ns.BackendAuthenticationConfig{TrustConfig: "projects/test-project/locations/us-central1/trustConfigs/x"}, 400, "global"},
		{"public roots", &ns.BackendAuthenticationConfig{WellKnownRoots: ns.BackendAuthenticationConfig_PUBLIC_ROOTS}, 0, ""},
	} {
		_, err := w.authenticates("x", c.config)
		w.wants(err, c.status, c.text)
	}
	made := must[*ns.BackendAuthenticationConfig](w)(w.authenticates("mesh", &ns.BackendAuthenticationConfig{ClientCertificate: client.Name, TrustConfig: trusted.Name}))
	if made.WellKnownRoots != ns.BackendAuthenticationConfig_NONE || made.Etag == "" {
		t.Errorf("made %v", made)
	}
	update := func(c *ns.BackendAuthenticationConfig, paths ...string) error {
		c.Name = made.Name
		request := &ns.UpdateBackendAuthenticationConfigRequest{BackendAuthenticationConfig: c}
		if len(paths) > 0 {
			request.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
		}
		_, err := w.security.UpdateBackendAuthenticationConfig(t.Context(), request)
		return err
	}
	w.wants(update(&ns.BackendAuthenticationConfig{TrustConfig: other.Name}, "trust_config"), 400, "not permitted")
	w.wants(update(&ns.BackendAuthenticationConfig{ClientCertificate: client.Name}, "client_certificate"), 400, "not permitted")
	w.wants(update(&ns.BackendAuthenticationConfig{Description: "d", WellKnownRoots: ns.BackendAuthenticationConfig_PUBLIC_ROOTS}, "description", "well_known_roots"), 0, "")
	w.wants(update(&ns.BackendAuthenticationConfig{Description: "all", WellKnownRoots: ns.BackendAuthenticationConfig_NONE}), 0, "")
	got := must[*ns.BackendAuthenticationConfig](w)(w.security.GetBackendAuthenticationConfig(t.Context(), &ns.GetBackendAuthenticationConfigRequest{Name: made.Name}))
	if got.Description != "all" || got.TrustConfig != trusted.Name || got.ClientCertificate != client.Name {
		t.Errorf("after the patches: %v", got)
	}
	_, err := w.certs.DeleteTrustConfig(t.Context(), &cm.DeleteTrustConfigRequest{Name: trusted.Name})
	w.wants(err, 400, "referenced by")
	_, err = w.certs.DeleteCertificate(t.Context(), &cm.DeleteCertificateRequest{Name: client.Name})
	w.wants(err, 400, "referenced by")
	_, err = w.security.DeleteBackendAuthenticationConfig(t.Context(), &ns.DeleteBackendAuthenticationConfigRequest{Name: made.Name, Etag: made.Etag})
	w.wants(err, 409, "")
	_, err = w.security.DeleteBackendAuthenticationConfig(t.Context(), &ns.DeleteBackendAuthenticationConfigRequest{Name: made.Name, Etag: got.Etag})
	w.wants(err, 0, "")
	_, err = w.certs.DeleteTrustConfig(t.Context(), &cm.DeleteTrustConfigRequest{Name: trusted.Name})
	w.wants(err, 0, "")
}

// Why: a server TLS policy is of an Application Load Balancer.
func TestServerTLSPolicies(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	trusted := must[*cm.TrustConfig](w)(w.trusts("clients", trust(pkitest.New(t, "root"))))
	mtls := func(mode ns.ServerTlsPolicy_MTLSPolicy_ClientValidationMode, trust string) *ns.ServerTlsPolicy {
		return &ns.ServerTlsPolicy{MtlsPolicy: &ns.ServerTlsPolicy_MTLSPolicy{ClientValidationMode: mode, ClientValidationTrustConfig: trust}}
	}
	open := mtls(ns.ServerTlsPolicy_MTLSPolicy_REJECT_INVALID, trusted.Name)
	open.AllowOpen = true
	for _, c := range []struct {
		name   string
		policy *ns.ServerTlsPolicy
		text   string
	}{
		{"reject", mtls(ns.ServerTlsPolicy_MTLSPolicy_REJECT_INVALID, trusted.Name), ""},
		{"allow without trust", mtls(ns.ServerTlsPolicy_MTLSPolicy_ALLOW_INVALID_OR_MISSING_CLIENT_CERT, ""), ""},
		{"reject without trust", mtls(ns.ServerTlsPolicy_MTLSPolicy_REJECT_INVALID, ""), "client_validation_trust_config"},
		{"no mode", mtls(ns.ServerTlsPolicy_MTLSPolicy_CLIENT_VALIDATION_MODE_UNSPECIFIED, trusted.Name), "client_validation_mode"},
		{"open", open, "allow_open"},
		{"Traffic Director", &ns.ServerTlsPolicy{}, "mtls_policy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := 400
			if c.text == "" {
				status = 0
			}
			_, err := w.security.CreateServerTlsPolicy(t.Context(), &ns.CreateServerTlsPolicyRequest{Parent: global, ServerTlsPolicyId: "p" + string(rune('a'+len(c.name))), ServerTlsPolicy: c.policy})
			w.wants(err, status, c.text)
		})
	}
}
