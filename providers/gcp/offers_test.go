package gcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// Why: a wrong section must say what to write, and nothing may move to a default in
// silence.
func TestSettingsAreReadStrictly(t *testing.T) {
	with := func(field string) string { return settingsOf("RegionalExternal", ","+field) }
	for _, c := range []struct{ name, section, want string }{
		{"none", ``, "gcp.project: is required"},
		{"no object", `[]`, "gcp: "},
		{"unknown field", with(`"zone":"europe-west1-b"`), "zone"},
		{"no project", `{"flavour":"GlobalExternal","zones":["europe-west1-b"]}`, `gcp.project: "" is not of the form my-project`},
		{"no flavour", `{"project":"my-project","zones":["europe-west1-b"],"location":"europe-west1","subnetwork":"a","proxyRanges":["10.0.0.0/23"]}`, `gcp.flavour: "" is none of GlobalExternal`},
		{"no zones", `{"project":"my-project","flavour":"GlobalExternal"}`, "gcp.zones"},
		{"a zone elsewhere", with(`"zones":["us-east1-b"]`), "duplicate"},
		{"zone of another region", strings.Replace(with(`"drainSeconds":5`), "europe-west1-c", "us-east1-c", 1), "us-east1-c is not in the region europe-west1"},
		{"global with a region", settingsOf("GlobalExternal", `,"location":"europe-west1"`), "GlobalExternal is global"},
		{"regional without", strings.Replace(settingsOf("RegionalExternal", ""), `,"location":"europe-west1"`, "", 1), "gcp.location"},
		{"internal without a subnetwork", strings.Replace(settingsOf("RegionalInternal", ""), `,"subnetwork":"default"`, "", 1), "gcp.subnetwork"},
		{"passthrough without nodes", strings.Replace(settingsOf("PassthroughExternal", ""), `,"nodeSubnetwork":"default"`, "", 1), "gcp.nodeSubnetwork"},
		{"cross-region without frontends", `{"project":"my-project","flavour":"CrossRegionInternal","zones":["europe-west1-b"],"proxyRanges":["10.0.0.0/23"]}`, "gcp.frontends"},
		{"frontends elsewhere", with(`"frontends":[{"region":"europe-west1","subnetwork":"a"}]`), "gcp.frontends"},
		{"a region twice", strings.Replace(settingsOf("CrossRegionInternal", ""), `"frontends":[`, `"frontends":[{"region":"europe-west1","subnetwork":"a"},`, 1), "stands twice"},
		{"no proxy ranges", strings.Replace(settingsOf("RegionalExternal", ""), `,"proxyRanges":["10.129.0.0/23"]`, "", 1), "gcp.proxyRanges"},
		{"proxy range", strings.Replace(settingsOf("RegionalExternal", ""), "10.129.0.0/23", "10.129.1.0/23", 1), "gcp.proxyRanges"},
		{"network", with(`"network":"global/networks/a"`), "gcp.network"},
		{"endpoint type", with(`"endpointType":"SERVERLESS"`), "gcp.endpointType"},
		{"firewall", with(`"firewall":"Off"`), "gcp.firewall"},
		{"tag", with(`"targetTags":["Nodes"]`), "gcp.targetTags"},
		{"tier", with(`"networkTier":"FAST"`), "gcp.networkTier"},
		{"policy", with(`"sslPolicy":"Modern TLS"`), "gcp.sslPolicy"},
		{"timeout", with(`"timeoutSeconds":-1`), "gcp.timeoutSeconds"},
		{"draining", with(`"drainSeconds":4000`), "gcp.drainSeconds"},
		{"assumption", with(`"assume":["Everything"]`), "gcp.assume"},
		{"quota", with(`"quotas":{"urlMapBytes":-1}`), "gcp.quotas"},
		{"held kind", with(`"held":[{"kind":"UrlMap","name":"a","for":"apps/a:80"}]`), "gcp.held[0].kind"},
		{"held for nobody", with(`"held":[{"kind":"BackendService","name":"a","for":"a"}]`), "gcp.held[0].for"},
		{"held twice", with(`"held":[{"kind":"BackendService","name":"a","for":"apps/a:80"},{"kind":"BackendService","name":"b","for":"apps/a:80"}]`), "gcp.held[1].for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, findings := Compiler{}.Offers(json.RawMessage(c.section))
			if len(findings) == 0 || !slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return strings.Contains(f.Detail, c.want) }) || findings[0].Code != lbmodel.CodeInvalid {
				t.Errorf("%+v, want %q", findings, c.want)
			}
		})
	}
	for _, flavour := range []settings.Flavour{settings.GlobalExternal, settings.RegionalExternal, settings.RegionalInternal, settings.CrossRegionInternal, settings.PassthroughExternal, settings.PassthroughInternal} {
		if _, findings := (Compiler{}).Offers(json.RawMessage(settingsOf(string(flavour), ""))); len(findings) > 0 {
			t.Errorf("%s: %v", flavour, findings)
		}
	}
}

// Why: one unreadable field must not move the others to their defaults.
func TestReadableSettingsCount(t *testing.T) {
	s, findings := readSettings(json.RawMessage(`{"project":"my-project","flavour":"RegionalExternal","location":"europe-west1","zones":"europe-west1-b"}`))
	if len(findings) != 1 || s.Flavour != settings.RegionalExternal || s.Project != "my-project" {
		t.Errorf("%+v, %v", s, findings)
	}
}

// Why: what is claimed is what the encodings keep, by flavour and by what the operator
// says; nothing else (decision 11 of the design).
func TestOffers(t *testing.T) {
	never := []lbmodel.Feature{
		lbmodel.FeatureTLSTerminate, lbmodel.FeatureTLSMixed, lbmodel.FeatureMisdirected, lbmodel.FeatureManyMirrors, lbmodel.FeatureBackendMirror, lbmodel.FeatureBackendRewrite,
		lbmodel.FeatureRetryBackoff, lbmodel.FeaturePersistHeader, lbmodel.FeatureBackendTLSALPN, lbmodel.FeatureBackendTLSMin13, lbmodel.FeatureBackendTLS13,
	}
	http := []lbmodel.Feature{
		lbmodel.FeatureHTTP, lbmodel.FeatureHTTPS, lbmodel.FeatureGRPC, lbmodel.FeatureTCP, lbmodel.FeatureMethodMatch, lbmodel.FeatureHeaderMatch, lbmodel.FeatureQueryMatch,
		lbmodel.FeatureRedirect303, lbmodel.FeatureRedirect307, lbmodel.FeatureRedirect308, lbmodel.FeatureRewritePath, lbmodel.FeatureMirrorShare, lbmodel.FeatureFixedShare, lbmodel.FeatureWeights,
		lbmodel.FeatureRequestTimeout, lbmodel.FeatureRetryCodes, lbmodel.FeatureH2C, lbmodel.FeatureClientValidation, lbmodel.FeatureInsecureFallback,
		lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSURISAN, lbmodel.FeatureBackendTLSIdentity, lbmodel.FeatureBackendTLSPerBackend, lbmodel.FeatureProxied,
	}
	regex := []lbmodel.Feature{lbmodel.FeaturePathRegex, lbmodel.FeatureHeaderRegex, lbmodel.FeatureQueryRegex}
	udp := []lbmodel.Feature{lbmodel.FeatureUDP, lbmodel.FeatureSourceRanges}
	for _, c := range []struct {
		flavour, more string
		yes, no       []lbmodel.Feature
	}{
		{"GlobalExternal", "", append([]lbmodel.Feature{lbmodel.FeatureIPv6, lbmodel.FeatureFQDN}, http...), slices.Concat(regex, udp, []lbmodel.Feature{lbmodel.FeatureTLSPassthrough, lbmodel.FeatureCORS})},
		{"RegionalExternal", "", slices.Concat(http, regex, []lbmodel.Feature{lbmodel.FeatureTLSPassthrough, lbmodel.FeatureFQDN}), append(udp, lbmodel.FeatureIPv6)},
		{"RegionalInternal", assumed, slices.Concat(http, regex, []lbmodel.Feature{lbmodel.FeatureTLSPassthrough, lbmodel.FeatureCORS}), udp},
		{"CrossRegionInternal", "", slices.Concat(http, regex, []lbmodel.Feature{lbmodel.FeatureTLSPassthrough}), append(udp, lbmodel.FeatureFQDN)},
		{"PassthroughExternal", "", append(udp, lbmodel.FeatureTCP), append(http[:3:3], lbmodel.FeatureProxied, lbmodel.FeatureTLSPassthrough)},
		{"PassthroughInternal", `,"firewall":"None"`, udp[:1], append(http[:3:3], lbmodel.FeatureSourceRanges)},
	} {
		t.Run(c.flavour, func(t *testing.T) {
			f, findings := Compiler{}.Offers(json.RawMessage(settingsOf(c.flavour, c.more)))
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			for _, want := range c.yes {
				if !f.Offers(want) {
					t.Errorf("%s is not offered", want)
				}
			}
			for _, not := range slices.Concat(c.no, never) {
				if f.Offers(not) {
					t.Errorf("%s is offered", not)
				}
			}
		})
	}
}

// Why: an unset field and its default must compile to the same, or a release that
// writes defaults out would replace load balancers.
func TestDefaultsAreValues(t *testing.T) {
	gw := newDice(2).gateway(settingsOf("GlobalExternal", ""))
	want := string(graphText(Compiler{}.Compile(gw)))
	s, _ := readSettings(gw.Settings)
	gw.Settings = json.RawMessage(encode(s))
	if string(graphText(Compiler{}.Compile(gw))) != want {
		t.Error("a default that is written out makes a difference")
	}
}
