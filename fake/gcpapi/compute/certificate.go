package compute

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"time"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) sslCertificates() *store.Kind {
	return &store.Kind{
		Collection: "sslCertificates", Schema: "SslCertificate", Noun: "ssl_certificate", Quota: counted("SSL_CERTIFICATES"),
		WriteOnly: []string{"privateKey", "selfManaged.privateKey"}, Default: completeCertificate, Check: checkCertificate,
	}
}

// completeCertificate has both forms of a certificate say the same.
func completeCertificate(_ store.View, _ store.Name, o store.Object) {
	o["type"] = cmp.Or(store.Text(o, "type"), "SELF_MANAGED")
	if o["type"] != "SELF_MANAGED" {
		return
	}
	in, _ := o["selfManaged"].(store.Object)
	chain := cmp.Or(store.Text(o, "certificate"), store.Text(in, "certificate"))
	secret := cmp.Or(store.Text(o, "privateKey"), store.Text(in, "privateKey"))
	o["certificate"], o["privateKey"] = chain, secret
	o["selfManaged"] = store.Object{"certificate": chain, "privateKey": secret}
	block, _ := pem.Decode([]byte(chain))
	if block == nil {
		return
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return // whoever checks refuses it
	}
	names := []any{}
	for _, n := range leaf.DNSNames {
		names = append(names, n)
	}
	o["subjectAlternativeNames"], o["expireTime"] = names, leaf.NotAfter.UTC().Format(time.RFC3339)
}

func checkCertificate(_ store.View, _ store.Name, was, o store.Object) error {
	switch {
	case was != nil:
		return nil
	case o["type"] == "MANAGED":
		domains := store.List(o, "managed.domains")
		if len(domains) == 0 || len(domains) > 100 {
			return store.BadField("managed.domains", len(domains), "Between 1 and 100 domains must be specified.")
		}
		store.Put(o, "managed.status", "PROVISIONING")
		return nil
	}
	if block, _ := pem.Decode([]byte(store.Text(o, "certificate"))); block == nil || !parses(block.Bytes) {
		return &store.Error{Status: http.StatusBadRequest, Reason: "sslCertificateCouldNotParseCert", Message: "The SSL certificate could not be parsed."}
	}
	if block, _ := pem.Decode([]byte(store.Text(o, "privateKey"))); block == nil {
		return &store.Error{Status: http.StatusBadRequest, Reason: "sslCertificateCouldNotParseKey", Message: "The SSL key could not be parsed."}
	}
	if _, err := tls.X509KeyPair([]byte(store.Text(o, "certificate")), []byte(store.Text(o, "privateKey"))); err != nil {
		return &store.Error{Status: http.StatusBadRequest, Reason: "sslCertificateKeyMismatch", Message: "The SSL key does not match the SSL certificate."}
	}
	return nil
}

func parses(der []byte) bool {
	_, err := x509.ParseCertificate(der)
	return err == nil
}

func (s *service) sslPolicies() *store.Kind {
	return &store.Kind{
		Collection: "sslPolicies", Schema: "SslPolicy", Noun: "ssl_policy", Stamp: "fingerprint", Quota: counted("SSL_POLICIES"), Immutable: []string{"name"},
		Default: func(_ store.View, _ store.Name, o store.Object) {
			o["profile"] = cmp.Or(store.Text(o, "profile"), "COMPATIBLE")
			o["minTlsVersion"] = cmp.Or(store.Text(o, "minTlsVersion"), "TLS_1_0")
		},
		Check: func(_ store.View, _ store.Name, _, o store.Object) error {
			custom := len(store.List(o, "customFeatures"))
			if (o["profile"] == "CUSTOM") != (custom > 0) {
				return store.BadField("customFeatures", custom, "Custom features must be specified with profile CUSTOM, and only with it.")
			}
			return nil
		},
	}
}
