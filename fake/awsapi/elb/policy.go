package elb

import (
	"slices"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// policies are the predefined security policies, by family.
func policies() []string {
	out := []string{"2016-08", "TLS-1-0-2015-04", "TLS-1-1-2017-01", "TLS-1-2-2017-01", "TLS-1-2-Ext-2018-06", "FS-2018-06",
		"FS-1-1-2019-08", "FS-1-2-2019-08", "FS-1-2-Res-2019-08", "FS-1-2-Res-2020-10"}
	for _, p := range []string{"1-0", "1-1", "1-2", "1-2-Res", "1-2-Ext1", "1-2-Ext2", "1-3"} {
		out = append(out, "TLS13-"+p+"-2021-06")
	}
	for _, p := range []string{"1-0", "1-1", "1-2", "1-2-Res", "1-2-Ext0", "1-2-Ext1", "1-2-Ext2", "1-3"} {
		out = append(out, "TLS13-"+p+"-FIPS-2023-04")
	}
	for _, p := range []string{"1-0", "1-2", "1-2-Res", "1-2-Ext1", "1-2-Ext2", "1-3"} {
		out = append(out, "TLS13-"+p+"-PQ-2025-09")
	}
	for i, p := range out {
		out[i] = "ELBSecurityPolicy-" + p
	}
	return out
}

func knownPolicy(name string) bool { return slices.Contains(policies(), name) }

// versions are the TLS versions that a policy allows, by its name.
func versions(policy string) []string {
	all := []string{"TLSv1", "TLSv1.1", "TLSv1.2"}
	switch {
	case strings.Contains(policy, "TLS13-1-3"):
		all = nil
	case strings.Contains(policy, "1-2-"):
		all = all[2:]
	case strings.Contains(policy, "1-1-"):
		all = all[1:]
	}
	if strings.Contains(policy, "TLS13") {
		all = append(slices.Clone(all), "TLSv1.3")
	}
	return all
}

func ciphers(versions []string) []cipher {
	var names []string
	if slices.Contains(versions, "TLSv1.3") {
		names = []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
	}
	if slices.Contains(versions, "TLSv1.2") {
		names = append(names, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384")
	}
	if slices.Contains(versions, "TLSv1") || slices.Contains(versions, "TLSv1.1") {
		names = append(names, "ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "AES128-SHA")
	}
	var out []cipher
	for i, name := range names {
		out = append(out, cipher{name, i + 1})
	}
	return out
}

func (s *Service) describeSSLPolicies(_ *account.Call, in *describeSSLPolicies) (any, error) {
	var all []sslPolicy
	for _, name := range policies() {
		if wanted(in.Names, name) {
			allowed := versions(name)
			all = append(all, sslPolicy{ciphers(allowed), name, allowed, []string{application, network}})
		}
	}
	for _, name := range in.Names {
		if !knownPolicy(name) {
			return nil, refuse("SSLPolicyNotFound", "SSL policy '%s' not found", name)
		}
	}
	out, next, err := page(all, in.Marker, in.PageSize)
	return sslPoliciesOut{next, out}, err
}
