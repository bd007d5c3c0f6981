package aws

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// Why: a wrong section must say what to write, and nothing may move to a default in
// silence.
func TestSettingsAreReadStrictly(t *testing.T) {
	for _, c := range []struct{ name, section, want string }{
		{"none", ``, "aws.region: is required"},
		{"no object", `[]`, "aws: "},
		{"unknown field", `{"region":"eu-west-1","subnet":["subnet-01"]}`, "subnet"},
		{"no region", `{}`, `aws.region: "" is not of the form eu-west-1`},
		{"a zone", `{"region":"eu-west-1a"}`, "aws.region"},
		{"scheme", `{"region":"eu-west-1","scheme":"public"}`, `"public" is none of internet-facing, internal`},
		{"flavour", `{"region":"eu-west-1","flavour":"Classic"}`, "aws.flavour"},
		{"subnet", `{"region":"eu-west-1","subnets":["subnet-01","sg-01"]}`, "aws.subnets[1]"},
		{"both ways to subnets", `{"region":"eu-west-1","subnets":["subnet-01"],"subnetTags":{"a":""}}`, "aws.subnetTags"},
		{"vpc", `{"region":"eu-west-1","vpc":"main"}`, "aws.vpc"},
		{"security group", `{"region":"eu-west-1","securityGroups":["default"]}`, "aws.securityGroups[0]"},
		{"targets' groups without a network", `{"region":"eu-west-1","targetSecurityGroups":["sg-01"]}`, "aws.targetSecurityGroups"},
		{"address type", `{"region":"eu-west-1","ipAddressType":"ipv6"}`, "aws.ipAddressType"},
		{"target family alone", `{"region":"eu-west-1","targetFamily":"ipv6"}`, "aws.targetFamily"},
		{"target type", `{"region":"eu-west-1","targetType":"pod"}`, "aws.targetType"},
		{"policy", `{"region":"eu-west-1","tlsPolicy":"Modern"}`, "aws.tlsPolicy"},
		{"log bucket", `{"region":"eu-west-1","accessLogs":{"bucket":"S3"}}`, "aws.accessLogs.bucket"},
		{"trust bucket", `{"region":"eu-west-1","trust":{"bucket":""}}`, "aws.trust.bucket"},
		{"our attribute", `{"region":"eu-west-1","loadBalancerAttributes":{"routing.http.preserve_host_header.enabled":"false"}}`, "aws.loadBalancerAttributes"},
		{"stickiness", `{"region":"eu-west-1","targetGroupAttributes":{"stickiness.enabled":"true"}}`, "aws.targetGroupAttributes"},
		{"assumption", `{"region":"eu-west-1","assume":["Everything"]}`, "aws.assume"},
		{"quota", `{"region":"eu-west-1","quotas":{"targetsPerGroup":-1}}`, "aws.quotas"},
		{"held kind", `{"region":"eu-west-1","held":[{"kind":"Rule","arn":"x"}]}`, "aws.held[0]"},
		{"held elsewhere", `{"region":"eu-west-1","held":[{"kind":"LoadBalancer","arn":"arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/a/1"}]}`, "it is in us-east-1"},
		{"held behind ours", `{"region":"eu-west-1","flavour":"ApplicationBehindNetwork","held":[{"kind":"LoadBalancer","arn":"arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/a/1"}]}`, "aws.held: "},
		{"held listener without port", `{"region":"eu-west-1","held":[{"kind":"Listener","arn":"arn:aws:elasticloadbalancing:eu-west-1:1:listener/app/a/1/2"}]}`, "aws.held[0].port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, findings := Compiler{}.Offers(json.RawMessage(c.section))
			if len(findings) == 0 || !strings.Contains(findings[0].Detail, c.want) || findings[0].Code != lbmodel.CodeInvalid {
				t.Errorf("%+v, want %q", findings, c.want)
			}
		})
	}
}

// Why: one unreadable field must not move the others to their defaults.
func TestReadableSettingsCount(t *testing.T) {
	s, findings := readSettings(json.RawMessage(`{"region":"eu-west-1","scheme":"internet-facing","subnets":"subnet-01"}`))
	if len(findings) != 1 || s.Scheme != schemePublic || s.Region != "eu-west-1" {
		t.Errorf("%+v, %v", s, findings)
	}
}

// Why: what is claimed is what the encodings keep, by flavour and by what the operator
// says; nothing else (decision 11 of the design).
func TestOffers(t *testing.T) {
	never := []lbmodel.Feature{
		lbmodel.FeatureQueryMatch, lbmodel.FeatureQueryRegex, lbmodel.FeatureRequestHeaders, lbmodel.FeatureResponseHeaders, lbmodel.FeatureMirror,
		lbmodel.FeatureCORS, lbmodel.FeatureRequestTimeout, lbmodel.FeatureBackendTimeout, lbmodel.FeatureRetryConnect, lbmodel.FeatureRetryCodes,
		lbmodel.FeatureRedirect303, lbmodel.FeatureRedirect307, lbmodel.FeatureRedirect308, lbmodel.FeatureFixedShare, lbmodel.FeatureInsecureFallback,
		lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSSystem, lbmodel.FeatureBackendTLSSNI, lbmodel.FeatureBackendTLSIdentity,
		lbmodel.FeatureBackendTLSDNSSAN, lbmodel.FeatureBackendTLSURISAN, lbmodel.FeatureMisdirected, lbmodel.FeatureTLSMixed, lbmodel.FeaturePersistCookie,
		lbmodel.FeatureFQDN, lbmodel.FeatureStaticAddress,
	}
	for _, c := range []struct {
		name    string
		section json.RawMessage
		yes, no []lbmodel.Feature
	}{
		{"by listeners", json.RawMessage(strictSettings), []lbmodel.Feature{lbmodel.FeatureHTTP, lbmodel.FeatureTCP, lbmodel.FeatureGRPC, lbmodel.FeatureSourceRanges, lbmodel.FeatureBackendTLSUnverified},
			[]lbmodel.Feature{lbmodel.FeatureHeaderMatch, lbmodel.FeaturePathRegex, lbmodel.FeatureRedirectPath, lbmodel.FeatureClientValidation, lbmodel.FeatureIPv6}},
		{"application", settingsWith(`"flavour":"Application"`), []lbmodel.Feature{lbmodel.FeatureHTTPS}, []lbmodel.Feature{lbmodel.FeatureTCP, lbmodel.FeatureTLSPassthrough, lbmodel.FeaturePersistSource}},
		{"network", settingsWith(`"flavour":"Network"`), []lbmodel.Feature{lbmodel.FeatureUDP, lbmodel.FeatureTLSTerminate}, []lbmodel.Feature{lbmodel.FeatureHTTP, lbmodel.FeatureGRPC, lbmodel.FeatureMethodMatch}},
		{"assumed", json.RawMessage(assumedSettings), []lbmodel.Feature{lbmodel.FeatureHeaderMatch, lbmodel.FeatureHeaderRegex, lbmodel.FeaturePathRegex, lbmodel.FeatureRedirectPath}, nil},
		{"network assumes nothing of rules", settingsWith(`"flavour":"Network","assume":["PathRegexCaseSensitive"]`), nil, []lbmodel.Feature{lbmodel.FeaturePathRegex}},
		{"trust", settingsWith(`"trust":{"bucket":"my-roots"}`), []lbmodel.Feature{lbmodel.FeatureClientValidation}, nil},
		{"dual stack", settingsWith(`"ipAddressType":"dualstack"`), []lbmodel.Feature{lbmodel.FeatureIPv6}, nil},
		{"security groups of the operator's", settingsWith(`"securityGroups":["sg-01"]`), nil, []lbmodel.Feature{lbmodel.FeatureSourceRanges}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, findings := Compiler{}.Offers(c.section)
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
	var unset, set settings.Settings
	unset.Region, set.Region = "eu-west-1", "eu-west-1"
	set = withDefaults(set)
	a, b := listenerOf("/a"), listenerOf("/a")
	a.Settings, b.Settings = json.RawMessage(encode(unset)), json.RawMessage(encode(set))
	if string(graphText(Compiler{}.Compile(a))) != string(graphText(Compiler{}.Compile(b))) {
		t.Error("a default that is written out makes a difference")
	}
}
