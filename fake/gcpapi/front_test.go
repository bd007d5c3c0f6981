package gcpapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	discovery "google.golang.org/api/compute/v1"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/compute"
)

func itoa(i int) string { return strconv.Itoa(i) }

// pair is a self-signed certificate and its key, as PEM.
func pair(t *testing.T, host string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: start, NotAfter: start.AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// A certificate must be one and fit its key, and the key is never shown again: not to
// readers, not in the dump, not in the log.
func TestCertificates(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	certificate, key := pair(t, "a.example")
	_, other := pair(t, "b.example")
	insert := func(name, certificate, key string) *discovery.SslCertificatesInsertCall {
		return w.api.SslCertificates.Insert(project, &discovery.SslCertificate{Name: name, Certificate: certificate, PrivateKey: key})
	}
	w.done(insert("a", certificate, key).Do)
	got := do(w, w.api.SslCertificates.Get(project, "a").Do)
	if got.PrivateKey != "" || got.SelfManaged.PrivateKey != "" || got.SelfManaged.Certificate != certificate || got.SubjectAlternativeNames[0] != "a.example" || got.ExpireTime != start.AddDate(1, 0, 0).Format(time.RFC3339) {
		t.Errorf("certificate %+v", got)
	}
	for reason, c := range map[string][2]string{"sslCertificateCouldNotParseCert": {"x", key}, "sslCertificateCouldNotParseKey": {certificate, "x"}, "sslCertificateKeyMismatch": {certificate, other}} {
		if got, _ := refused(w, insert("b", c[0], c[1]).Do); got != reason {
			t.Errorf("%q, want %s", got, reason)
		}
	}
	log := ""
	for _, c := range w.Calls() {
		log += c.Digest + c.Target
	}
	if strings.Contains(w.Dump()+log, "PRIVATE") {
		t.Error("the key is shown")
	}
}

// regional makes an internal or external load balancer of a region up to its proxy.
func (w *world) regional(scheme string) string {
	w.Helper()
	w.done(w.api.RegionHealthChecks.Insert(project, region, tcpCheck("hc")).Do)
	w.done(w.api.RegionBackendServices.Insert(project, region, &discovery.BackendService{Name: "web", LoadBalancingScheme: scheme, HealthChecks: []string{"regions/us-central1/healthChecks/hc"}}).Do)
	w.done(w.api.RegionUrlMaps.Insert(project, region, &discovery.UrlMap{Name: "shop", DefaultService: "regions/us-central1/backendServices/web"}).Do)
	w.done(w.api.RegionTargetHttpProxies.Insert(project, region, &discovery.TargetHttpProxy{Name: "shop", UrlMap: "regions/us-central1/urlMaps/shop"}).Do)
	return "regions/us-central1/targetHttpProxies/shop"
}

// A regional load balancer wants a proxy-only subnetwork, and an internal one has an
// address of its subnetwork.
func TestRegionalRules(t *testing.T) {
	for _, c := range []struct{ name, scheme, within string }{{"internal", "INTERNAL_MANAGED", "10.128.0.0/20"}, {"external", "EXTERNAL_MANAGED", "198.18.0.0/15"}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, gcpapi.Config{})
			rule := &discovery.ForwardingRule{Name: "shop", Target: w.regional(c.scheme), PortRange: "80", LoadBalancingScheme: c.scheme, Network: "global/networks/default"}
			w.done(w.api.Subnetworks.Delete(project, region, "proxies").Do)
			_, message := refused(w, w.api.ForwardingRules.Insert(project, region, rule).Do)
			if !strings.Contains(message, "An active proxy-only subnetwork is required in the same region and VPC as the forwarding rule.") {
				t.Errorf("without proxies: %q", message)
			}
			w.done(w.api.Subnetworks.Insert(project, region, &discovery.Subnetwork{Name: "proxies", Network: "global/networks/default", IpCidrRange: "10.129.0.0/23", Purpose: "REGIONAL_MANAGED_PROXY", Role: "ACTIVE"}).Do)
			w.done(w.api.ForwardingRules.Insert(project, region, rule).Do)
			got := do(w, w.api.ForwardingRules.Get(project, region, "shop").Do)
			if ip, err := netip.ParseAddr(got.IPAddress); err != nil || !netip.MustParsePrefix(c.within).Contains(ip) {
				t.Errorf("address %s, want one of %s", got.IPAddress, c.within)
			}
		})
	}
}

// An address and port are one rule's; ports, schemes and targets must fit.
func TestForwardingRules(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.shop()
	shop := do(w, w.api.GlobalForwardingRules.Get(project, "shop").Do)
	const at = "global/forwardingRules"
	w.run([]bad{
		{"same address and port", at, `{"name": "b", "loadBalancingScheme": "EXTERNAL_MANAGED", "target": "global/targetHttpProxies/shop", "portRange": "80", "IPAddress": "` + shop.IPAddress + `"}`, "Specified IP address is in-use and would result in a conflict."},
		{"same address", at, `{"name": "c", "loadBalancingScheme": "EXTERNAL_MANAGED", "target": "global/targetHttpProxies/shop", "portRange": "8080", "IPAddress": "` + shop.IPAddress + `"}`, ""},
		{"no port", at, `{"name": "b", "loadBalancingScheme": "EXTERNAL_MANAGED", "target": "global/targetHttpProxies/shop"}`, "Ports, portRange or allPorts must be specified"},
		{"two ports", at, `{"name": "b", "loadBalancingScheme": "EXTERNAL_MANAGED", "target": "global/targetHttpProxies/shop", "portRange": "80-81"}`, "Exactly one port must be specified for a target proxy"},
		{"another scheme", at, `{"name": "b", "loadBalancingScheme": "EXTERNAL", "target": "global/targetHttpProxies/shop", "portRange": "80"}`, "must match that of the backend service"},
		{"no target", at, `{"name": "b", "loadBalancingScheme": "EXTERNAL_MANAGED", "portRange": "80"}`, "Exactly one of target and backendService"},
		{"missing target", at, `{"name": "b", "loadBalancingScheme": "EXTERNAL_MANAGED", "target": "global/targetHttpProxies/none", "portRange": "80"}`, "targetHttpProxies/none' was not found"},
	})
	w.done(w.api.TargetHttpProxies.Insert(project, &discovery.TargetHttpProxy{Name: "two", UrlMap: global("urlMaps", "shop")}).Do)
	w.done(w.api.GlobalForwardingRules.SetTarget(project, "c", &discovery.TargetReference{Target: global("targetHttpProxies", "two")}).Do)
	if got := do(w, w.api.GlobalForwardingRules.Get(project, "c").Do); got.Target != global("targetHttpProxies", "two") || got.Fingerprint == "" {
		t.Errorf("rule %+v", got)
	}
	seen := do(w, w.api.GlobalForwardingRules.Get(project, "c").Do)
	if _, message := refused(w, w.api.GlobalForwardingRules.Patch(project, "c", &discovery.ForwardingRule{Target: global("targetHttpProxies", "shop"), Fingerprint: seen.Fingerprint}).Do); !strings.Contains(message, "can't be changed by patch") {
		t.Errorf("patch of a target: %q", message)
	}
}

// An internal address is one rule's, unless it was reserved to be shared; external and
// internal addresses are not each other's.
func TestSharedAddress(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	target := w.regional("INTERNAL_MANAGED")
	for _, a := range []*discovery.Address{{Name: "own", AddressType: "INTERNAL"}, {Name: "shared", AddressType: "INTERNAL", Purpose: "SHARED_LOADBALANCER_VIP"}, {Name: "outside"}} {
		w.done(w.api.Addresses.Insert(project, region, a).Do)
	}
	const at = "regions/us-central1/forwardingRules"
	rule := func(name, address, port string) string {
		return `{"name": "` + name + `", "loadBalancingScheme": "INTERNAL_MANAGED", "target": "` + target + `", "portRange": "` + port + `", "IPAddress": "` + address + `"}`
	}
	w.run([]bad{
		{"own", at, rule("a", "regions/us-central1/addresses/own", "80"), ""},
		{"own again", at, rule("b", "regions/us-central1/addresses/own", "81"), "would result in a conflict"},
		{"shared", at, rule("c", "regions/us-central1/addresses/shared", "80"), ""},
		{"shared again", at, rule("d", "regions/us-central1/addresses/shared", "81"), ""},
		{"shared port", at, rule("e", "regions/us-central1/addresses/shared", "80"), "would result in a conflict"},
		{"external", at, rule("e", "regions/us-central1/addresses/outside", "80"), "is EXTERNAL, and the forwarding rule's load balancing scheme is INTERNAL_MANAGED"},
		{"elsewhere", at, rule("e", "10.1.2.3", "80"), "must be in the subnetwork's range, 10.128.0.0/20"},
		{"no such address", at, rule("e", "regions/us-central1/addresses/none", "80"), "Must be an IP address or the URL of a reserved one"},
	})
}

// The default network is the documented one, and is in no dump.
func TestWorld(t *testing.T) {
	w := newWorld(t, gcpapi.Config{World: compute.World{Regions: map[string][]string{"us-central1": {"us-central1-a"}}, Networks: []string{"default"},
		Subnetworks: []compute.Subnetwork{{Name: "s", Region: "us-central1", Range: "10.0.0.0/20"}}, Instances: []compute.Instance{{Name: "n", Zone: "us-central1-a", IP: "10.0.0.2"}}}})
	if n := do(w, w.api.Networks.Get(project, "default").Do); len(n.Subnetworks) != 1 {
		t.Errorf("network %+v", n)
	}
	zones := do(w, w.api.Zones.List(project).Do).Items
	instances := do(w, w.api.Instances.List(project, zone).Do).Items
	if len(zones) != 1 || len(instances) != 1 || instances[0].NetworkInterfaces[0].NetworkIP != "10.0.0.2" {
		t.Errorf("%d zones, instances %+v", len(zones), instances)
	}
	w.done(w.api.GlobalAddresses.Insert(project, &discovery.Address{Name: "a"}).Do)
	w.done(w.api.Addresses.Insert(project, region, &discovery.Address{Name: "b", AddressType: "INTERNAL"}).Do)
	if b := do(w, w.api.Addresses.Get(project, region, "b").Do); b.Address != "10.0.0.3" || b.Purpose != "GCE_ENDPOINT" || b.Region == "" {
		t.Errorf("address %+v", b)
	}
	if _, message := refused(w, w.api.Addresses.Insert(project, region, &discovery.Address{Name: "c", AddressType: "INTERNAL", Address: "10.1.0.1"}).Do); !strings.Contains(message, "not within the subnetwork's range") {
		t.Errorf("an address elsewhere: %q", message)
	}
}
