package gcpapi_test

import (
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
)

// certificate makes a classic certificate.
func (w *world) certificate(name string) string {
	w.Helper()
	certificate, key := pair(w.T, name+".example")
	w.done(w.api.SslCertificates.Insert(project, &discovery.SslCertificate{Name: name, Certificate: certificate, PrivateKey: key}).Do)
	return global("sslCertificates", name)
}

// Each method of an HTTPS proxy replaces what it is named after, and an empty value
// takes it away.
func TestHTTPSProxy(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	a, b := w.urlMap("a", w.backend("a")), w.urlMap("b", w.backend("b"))
	one, two := w.certificate("one"), w.certificate("two")
	w.done(w.api.SslPolicies.Insert(project, &discovery.SslPolicy{Name: "modern", Profile: "MODERN", MinTlsVersion: "TLS_1_2"}).Do)
	proxies := w.api.TargetHttpsProxies
	if _, message := refused(w, proxies.Insert(project, &discovery.TargetHttpsProxy{Name: "p", UrlMap: a}).Do); !strings.Contains(message, "At least one SSL certificate or a certificate map") {
		t.Errorf("without certificates: %q", message)
	}
	w.done(proxies.Insert(project, &discovery.TargetHttpsProxy{Name: "p", UrlMap: a, SslCertificates: []string{one}}).Do)
	w.done(proxies.SetUrlMap(project, "p", &discovery.UrlMapReference{UrlMap: b}).Do)
	w.done(proxies.SetSslCertificates(project, "p", &discovery.TargetHttpsProxiesSetSslCertificatesRequest{SslCertificates: []string{one, two}}).Do)
	w.done(proxies.SetSslPolicy(project, "p", &discovery.SslPolicyReference{SslPolicy: global("sslPolicies", "modern")}).Do)
	w.done(proxies.SetQuicOverride(project, "p", &discovery.TargetHttpsProxiesSetQuicOverrideRequest{QuicOverride: "DISABLE"}).Do)
	got := do(w, proxies.Get(project, "p").Do)
	if got.UrlMap != b || len(got.SslCertificates) != 2 || got.SslPolicy != global("sslPolicies", "modern") || got.QuicOverride != "DISABLE" {
		t.Errorf("proxy %+v", got)
	}
	if reason, message := refused(w, w.api.SslPolicies.Delete(project, "modern").Do); reason != "resourceInUseByAnotherResource" {
		t.Errorf("a policy in use: %s %s", reason, message)
	}
	w.done(proxies.SetSslPolicy(project, "p", &discovery.SslPolicyReference{}).Do)
	w.done(w.api.SslPolicies.Delete(project, "modern").Do)
	w.done(w.api.UrlMaps.Delete(project, "a").Do)
	got = do(w, proxies.Get(project, "p").Do)
	w.done(proxies.Patch(project, "p", &discovery.TargetHttpsProxy{Fingerprint: got.Fingerprint, SslCertificates: []string{two}}).Do)
	w.done(w.api.SslCertificates.Delete(project, "one").Do)

	var many []string
	for i := range 16 {
		many = append(many, w.certificate(fmt.Sprint("c", i)))
	}
	if _, message := refused(w, proxies.SetSslCertificates(project, "p", &discovery.TargetHttpsProxiesSetSslCertificatesRequest{SslCertificates: many}).Do); !strings.Contains(message, "At most 15 SSL certificates") {
		t.Errorf("16 certificates: %q", message)
	}
}

// managed makes a certificate of Certificate Manager.
func (w *world) managed(location, name, scope string) string {
	w.Helper()
	certificate, key := pair(w.T, name+".example")
	body, err := json.Marshal(map[string]any{"scope": scope, "selfManaged": map[string]any{"pemCertificate": certificate, "pemPrivateKey": key}})
	if err != nil {
		w.Fatal(err)
	}
	at := "projects/" + project + "/locations/" + location + "/certificates"
	status, text := w.ask("POST", "https://certificatemanager.googleapis.com/v1/"+at+"?certificateId="+name, string(body))
	if status != 200 {
		w.Fatal(text)
	}
	return "//certificatemanager.googleapis.com/" + at + "/" + name
}

// Certificate Manager's certificates are where the proxy is, of the scope that is for
// it, and in use by it.
func TestManagedCertificates(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.urlMap("ext", w.backend("web"))
	w.run([]bad{
		{"cross-region backend service", "global/backendServices", `{"name": "int", "loadBalancingScheme": "INTERNAL_MANAGED"}`, ""},
		{"cross-region URL map", "global/urlMaps", `{"name": "int", "defaultService": "global/backendServices/int"}`, ""},
	})
	w.regional("INTERNAL_MANAGED")
	proxy := func(name, urlMap, certificate string) string {
		return `{"name": "` + name + `", "urlMap": "` + urlMap + `", "sslCertificates": ["` + certificate + `"]}`
	}
	everywhere, plain, own := w.managed("global", "everywhere", "ALL_REGIONS"), w.managed("global", "plain", "DEFAULT"), w.managed(region, "own", "DEFAULT")
	const at, near = "global/targetHttpsProxies", "regions/us-central1/targetHttpsProxies"
	w.run([]bad{
		{"global external", at, proxy("x", "global/urlMaps/ext", plain), "by a certificate map"},
		{"cross-region", at, proxy("a", "global/urlMaps/int", everywhere), ""},
		{"cross-region of another scope", at, proxy("x", "global/urlMaps/int", plain), "scope must be ALL_REGIONS and is DEFAULT"},
		{"regional", near, proxy("b", "regions/us-central1/urlMaps/shop", own), ""},
		{"regional with a global one", near, proxy("x", "regions/us-central1/urlMaps/shop", plain), "Must be in the same location"},
		{"missing", near, proxy("x", "regions/us-central1/urlMaps/shop", own+"2"), "certificates/own2' was not found"},
	})
	status, text := w.ask("DELETE", "https://certificatemanager.googleapis.com/v1/projects/"+project+"/locations/global/certificates/everywhere", "")
	if status == 200 && !strings.Contains(text, `"error"`) {
		t.Errorf("a certificate in use is deleted: %s", text)
	}
}

// TCP and SSL proxies serve backend services of their protocol; a regional TCP proxy
// can't be changed at all.
func TestStreamProxies(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	for _, protocol := range []string{"TCP", "SSL", "HTTP"} {
		w.done(w.api.BackendServices.Insert(project, &discovery.BackendService{Name: strings.ToLower(protocol), Protocol: protocol, LoadBalancingScheme: "EXTERNAL_MANAGED"}).Do)
	}
	tcp := client(w, compute.NewTargetTcpProxiesRESTClient)
	insert := func(name, backend string) error {
		_, err := tcp.Insert(t.Context(), &computepb.InsertTargetTcpProxyRequest{Project: project, TargetTcpProxyResource: &computepb.TargetTcpProxy{Name: &name, Service: proto.String(global("backendServices", backend))}})
		return err
	}
	if err := insert("p", "tcp"); err != nil {
		t.Fatal(err)
	}
	if _, message := reasonOf(insert("q", "http")); !strings.Contains(message, "must be TCP and is HTTP") {
		t.Errorf("an HTTP backend service: %q", message)
	}
	w.done(w.api.TargetTcpProxies.SetProxyHeader(project, "p", &discovery.TargetTcpProxiesSetProxyHeaderRequest{ProxyHeader: "PROXY_V1"}).Do)
	if _, message := refused(w, w.api.TargetTcpProxies.SetBackendService(project, "p", &discovery.TargetTcpProxiesSetBackendServiceRequest{Service: global("backendServices", "ssl")}).Do); !strings.Contains(message, "must be TCP and is SSL") {
		t.Errorf("an SSL backend service: %q", message)
	}
	w.done(w.api.TargetSslProxies.Insert(project, &discovery.TargetSslProxy{Name: "s", Service: global("backendServices", "ssl"), SslCertificates: []string{w.certificate("one")}}).Do)
	if got := do(w, w.api.TargetSslProxies.Get(project, "s").Do); got.ProxyHeader != "NONE" || got.Service != global("backendServices", "ssl") {
		t.Errorf("proxy %+v", got)
	}
	if status, _ := w.raw("PATCH", "projects/"+project+"/regions/"+region+"/targetTcpProxies/p", `{}`); status != 404 {
		t.Errorf("a PATCH of a regional TCP proxy: %d", status)
	}
}

// What Google documents of firewall rules and TLS policies.
func TestFirewallRules(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	const probes = `"sourceRanges": ["35.191.0.0/16", "130.211.0.0/22"]`
	w.run([]bad{
		{"probes", "global/firewalls", `{"name": "a", ` + probes + `, "allowed": [{"IPProtocol": "tcp", "ports": ["8080", "9000-9100"]}]}`, ""},
		{"allowed and denied", "global/firewalls", `{"name": "b", "allowed": [{"IPProtocol": "tcp"}], "denied": [{"IPProtocol": "udp"}]}`, "Exactly one of allowed and denied"},
		{"neither", "global/firewalls", `{"name": "b"}`, "Exactly one of allowed and denied"},
		{"no protocol", "global/firewalls", `{"name": "b", "allowed": [{"ports": ["80"]}]}`, "IPProtocol"},
		{"ports", "global/firewalls", `{"name": "b", "allowed": [{"IPProtocol": "tcp", "ports": ["90-80"]}]}`, "Must be ports or ranges of ports"},
		{"range", "global/firewalls", `{"name": "b", "sourceRanges": ["35.191.0.0/40"], "allowed": [{"IPProtocol": "tcp"}]}`, "Must be a range in CIDR notation"},
		{"no such network", "global/firewalls", `{"name": "b", "network": "global/networks/x", "allowed": [{"IPProtocol": "tcp"}]}`, "networks/x' was not found"},
		{"custom without features", "global/sslPolicies", `{"name": "a", "profile": "CUSTOM"}`, "Custom features must be specified"},
		{"features without custom", "global/sslPolicies", `{"name": "a", "customFeatures": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}`, "only with it"},
	})
	rule := do(w, w.api.Firewalls.Get(project, "a").Do)
	if rule.Direction != "INGRESS" || rule.Priority != 1000 || rule.Network != global("networks", "default") {
		t.Errorf("rule %+v", rule)
	}
	w.done(w.api.Firewalls.Patch(project, "a", &discovery.Firewall{TargetTags: []string{"node"}}).Do)
	if rule = do(w, w.api.Firewalls.Get(project, "a").Do); len(rule.TargetTags) != 1 || len(rule.SourceRanges) != 2 {
		t.Errorf("rule %+v", rule)
	}
	w.done(w.api.Firewalls.Update(project, "a", &discovery.Firewall{Name: "a", Allowed: []*discovery.FirewallAllowed{{IPProtocol: "tcp"}}, Disabled: true}).Do)
	if rule = do(w, w.api.Firewalls.Get(project, "a").Do); len(rule.TargetTags) != 0 || rule.SourceRanges[0] != "0.0.0.0/0" || !rule.Disabled {
		t.Errorf("rule %+v", rule)
	}
}

// A life-like project works as well, only slower: the times, quotas and rates fit
// together.
func TestLifelike(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Times: gcpapi.Lifelike(), Limits: gcpapi.Quotas(), Rates: gcpapi.Rates()})
	go w.Drive(t.Context(), w.clock, 2e6)
	operations := client(w, compute.NewGlobalOperationsRESTClient)
	op := do(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do)
	if _, err := operations.Wait(t.Context(), &computepb.WaitGlobalOperationRequest{Project: project, Operation: op.Name}); err != nil {
		t.Fatal(err)
	}
	if took := w.clock.Now().Sub(start); took != gcpapi.Lifelike().Operations[""] {
		t.Errorf("it took %s", took)
	}
}
