package certmanager

import (
	"strings"

	"gatehouse.dev/fake/gcpapi/aip"
	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// Host is the service's.
const Host = "certificatemanager.googleapis.com"

// Config takes a side where the documentation does not say what happens.
type Config struct {
	// RefuseUnfit: authorities that could never validate anything (not a CA's, a key of a
	// wrong kind) are refused when they are written; else they are only not used.
	RefuseUnfit bool
}

// Group is the quota group of all its calls: 300 a minute.
const Group = "certificatemanager_requests"

// New puts the service into a project.
func New(shelf *store.Store, config Config) store.Service {
	return aip.New(shelf, aip.Service{
		API: schema.CertificateManager(), Types: "google.cloud.certificatemanager.v1", Group: Group, NeedMask: true,
		Kinds: []aip.Kind{trustConfigs(config), certificates(), maps(), entries(), authorizations()},
	})
}

func quota(metric string) func(store.Name, store.Object) string {
	return func(store.Name, store.Object) string { return metric }
}

func trustConfigs(config Config) aip.Kind {
	return aip.Kind{
		ID: "trustConfigId", Mutable: []string{"allowlistedCertificates", "description", "etag", "labels", "spiffeTrustStores", "trustStores"},
		Kind: &store.Kind{
			Host: Host, Collection: "trustConfigs", Noun: "trust_config", Schema: "TrustConfig", Stamp: "etag",
			Immutable: []string{"tags"}, WriteOnly: []string{"tags"}, Quota: quota("TRUST_CONFIGS"), Check: config.checkTrust, Used: used("trust config"),
		},
	}
}

func certificates() aip.Kind {
	return aip.Kind{
		ID: "certificateId", Mutable: []string{"description", "labels", "selfManaged"},
		Kind: &store.Kind{
			Host: Host, Collection: "certificates", Noun: "certificate", Schema: "Certificate",
			Immutable: []string{"scope", "managed", "managedIdentity", "tags"}, WriteOnly: []string{"selfManaged.pemCertificate", "selfManaged.pemPrivateKey", "tags"},
			References: []store.Reference{{Field: "managed.dnsAuthorizations[]", To: []string{"dnsAuthorizations"}}},
			Quota:      quota("CERTIFICATES"), Default: completeCertificate, Check: checkCertificate, Show: showCertificate, Used: used("certificate"),
		},
	}
}

func maps() aip.Kind {
	return aip.Kind{
		ID: "certificateMapId", Mutable: []string{"description", "labels"}, GlobalOnly: true,
		Kind: &store.Kind{
			Host: Host, Collection: "certificateMaps", Noun: "certificate_map", Schema: "CertificateMap",
			Immutable: []string{"tags"}, WriteOnly: []string{"tags"}, Quota: quota("CERTIFICATE_MAPS"), Show: showMap, Used: used("certificate map"),
		},
	}
}

func entries() aip.Kind {
	return aip.Kind{
		ID: "certificateMapEntryId", Mutable: []string{"certificates", "description", "labels"}, GlobalOnly: true, Parent: "certificateMaps",
		Kind: &store.Kind{
			Host: Host, Collection: "certificateMapEntries", Noun: "certificate_map_entry", Schema: "CertificateMapEntry",
			Immutable:  []string{"hostname", "matcher"},
			References: []store.Reference{{Field: "certificates[]", To: []string{"certificates"}}},
			Quota:      quota("CERTIFICATE_MAP_ENTRIES"), Default: completeEntry, Check: checkEntry,
		},
	}
}

func authorizations() aip.Kind {
	return aip.Kind{
		ID: "dnsAuthorizationId", Mutable: []string{"description", "labels"},
		Kind: &store.Kind{
			Host: Host, Collection: "dnsAuthorizations", Noun: "dns_authorization", Schema: "DnsAuthorization",
			Immutable: []string{"domain", "type", "tags"}, WriteOnly: []string{"tags"}, Quota: quota("DNS_AUTHORIZATIONS"), Default: completeAuthorization, Check: checkAuthorization, Used: used("DNS authorization"),
		},
	}
}

// used refuses to delete what others use.
func used(noun string) func(store.Name, []store.Name) *store.Error {
	return func(n store.Name, by []store.Name) *store.Error {
		return &store.Error{Status: 400, Reason: store.InUse, Message: "can't delete " + noun + " that is referenced by " + list(by) + ": " + n.Path()}
	}
}

func list(names []store.Name) string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return strings.Join(out, ", ")
}
