package netsec

import (
	"gatehouse.dev/fake/gcpapi/aip"
	"gatehouse.dev/fake/gcpapi/certmanager"
	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// Host is the service's.
const Host = "networksecurity.googleapis.com"

// New puts the service into a project.
func New(shelf *store.Store) store.Service {
	return aip.New(shelf, aip.Service{
		API: schema.NetworkSecurity(), Types: "google.cloud.networksecurity.v1", Kinds: []aip.Kind{authentications(), policies()},
	})
}

// authentications: client certificate and trust config stay what they are. Google's page:
// a client certificate cannot be attached after the resource has been created.
func authentications() aip.Kind {
	return aip.Kind{
		ID: "backendAuthenticationConfigId", Mutable: []string{"description", "labels", "wellKnownRoots"},
		Kind: &store.Kind{
			Host: Host, Collection: "backendAuthenticationConfigs", Noun: "backend_authentication_config", Schema: "BackendAuthenticationConfig", Stamp: "etag",
			Immutable: []string{"clientCertificate", "trustConfig"},
			References: []store.Reference{
				{Field: "clientCertificate", To: []string{certmanager.Host + "/certificates"}, Near: true},
				{Field: "trustConfig", To: []string{certmanager.Host + "/trustConfigs"}, Near: true},
			},
			Default: completeAuthentication, Check: checkAuthentication, Used: used,
		},
	}
}

func policies() aip.Kind {
	return aip.Kind{
		ID: "serverTlsPolicyId", Mutable: []string{"allowOpen", "description", "labels", "mtlsPolicy", "serverCertificate"},
		Kind: &store.Kind{
			Host: Host, Collection: "serverTlsPolicies", Noun: "server_tls_policy", Schema: "ServerTlsPolicy",
			References: []store.Reference{{Field: "mtlsPolicy.clientValidationTrustConfig", To: []string{certmanager.Host + "/trustConfigs"}, Near: true}},
			Check:      checkPolicy, Used: used,
		},
	}
}

func used(n store.Name, by []store.Name) *store.Error {
	return &store.Error{Status: 400, Reason: store.InUse, Message: "The resource '" + n.Path() + "' is being used by '" + string(by[0]) + "'."}
}

// completeAuthentication: unset well-known roots are NONE.
func completeAuthentication(_ store.View, _ store.Name, o store.Object) {
	if roots := o["wellKnownRoots"]; roots == nil || roots == "WELL_KNOWN_ROOTS_UNSPECIFIED" {
		o["wellKnownRoots"] = "NONE"
	}
}

// checkAuthentication: somebody must validate the server, with a certificate that is for
// that.
func checkAuthentication(v store.View, _ store.Name, _, o store.Object) error {
	if store.Text(o, "trustConfig") == "" && o["wellKnownRoots"] != "PUBLIC_ROOTS" {
		return store.Bad("Invalid backend authentication config: trust_config is required unless well_known_roots is PUBLIC_ROOTS.")
	}
	text := store.Text(o, "clientCertificate")
	if text == "" {
		return nil
	}
	c := v.Get(store.NameOf(certmanager.Host, text))
	if scope := store.Text(c, "scope"); c != nil && scope != certmanager.ScopeClient {
		if scope == "" {
			scope = "DEFAULT"
		}
		return store.Bad("Invalid client_certificate: '%s' must be of scope CLIENT_AUTH, and is of scope %s.", text, scope)
	}
	return nil
}

// checkPolicy is what a policy of an Application Load Balancer may say.
func checkPolicy(_ store.View, _ store.Name, _, o store.Object) error {
	mode := store.Text(o, "mtlsPolicy.clientValidationMode")
	trust := store.Text(o, "mtlsPolicy.clientValidationTrustConfig")
	relaxed := store.List(o, "mtlsPolicy.clientValidationRelaxations")
	switch {
	case o["mtlsPolicy"] == nil:
		return store.Bad("Invalid server TLS policy: mtls_policy is required; policies of Traffic Director are not emulated.")
	case o["allowOpen"] == true:
		return store.Bad("Invalid allow_open: it must be false for Application Load Balancers.")
	case o["serverCertificate"] != nil:
		return store.Bad("Invalid server_certificate: it must be empty for Application Load Balancers.")
	case len(store.List(o, "mtlsPolicy.clientValidationCa")) > 0:
		return store.Bad("Invalid mtls_policy.client_validation_ca: it must be empty for Application Load Balancers.")
	case mode == "" || mode == "CLIENT_VALIDATION_MODE_UNSPECIFIED":
		return store.Bad("Invalid mtls_policy.client_validation_mode: it is required for Application Load Balancers.")
	case mode != "ALLOW_INVALID_OR_MISSING_CLIENT_CERT" && trust == "":
		return store.Bad("Invalid mtls_policy.client_validation_trust_config: it is required with client_validation_mode %s.", mode)
	case len(relaxed) > 0 && mode != "ALLOW_VALIDATION_RELAXATIONS":
		return store.Bad("Invalid mtls_policy.client_validation_relaxations: they need client_validation_mode ALLOW_VALIDATION_RELAXATIONS.")
	}
	return nil
}
