package istio

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// configOf is the mesh configuration of a revision.
func configOf(revision, config string) string {
	return strings.Replace(meshConfigMap(config), "name: istio,", "name: istio-"+revision+",", 1)
}

// injectedBy is the shop's pod, injected by a revision.
func injectedBy(revision string) string {
	return strings.Replace(shopPod, `"revision":"default"`, `"revision":"`+revision+`"`, 1)
}

// labelled is a pod with a sidecar that says nothing of its revision but a label.
func labelled(revision string) string {
	return strings.Replace(strings.Replace(shopPod, `,"revision":"default"`, "", 1), "version: v1", "istio.io/rev: "+revision, 1)
}

const (
	// injector is a ConfigMap beside a revision's, with no mesh configuration.
	injector = `{apiVersion: v1, kind: ConfigMap, metadata: {name: istio-sidecar-injector-blue, namespace: istio-system}, data: {config: "policy: enabled"}}`
	// elsewhere is another installation's, which nobody asks about.
	elsewhere = `{apiVersion: v1, kind: ConfigMap, metadata: {name: istio-red, namespace: other-system}, data: {mesh: "trustDomain: red"}}`
)

// TestRevisionsFound: an installation that has revisions only is found, whoever its
// istiod is, and its settings are its own.
func TestRevisionsFound(t *testing.T) {
	blue, green := configOf("blue", "trustDomain: a.test"), configOf("green", "trustDomain: a.test")
	for _, c := range []struct {
		name, why      string
		objects        []string
		revision, says string // of the mesh; a part of what it says
		domain         string
	}{
		{"none", "an installation with defaults", []string{injector, elsewhere}, "", "", "cluster.local"},
		{"one, with a name", "there is no ConfigMap istio", []string{blue, injector, elsewhere}, "blue", "", "a.test"},
		{"two alike", "an upgrade is going on", []string{green, blue}, "blue", "Revisions blue and green are one mesh: gateways get their certificates from istiod-blue.istio-system.svc unless identity.address says otherwise.", "a.test"},
		{"with the one without a name", "it was there before", []string{blue, meshConfigMap("trustDomain: a.test")}, "", "Revisions default and blue are one mesh: gateways get their certificates from istiod.istio-system.svc unless", "a.test"},
		{"two that differ", "nobody can say which is meant", []string{blue, configOf("green", "{trustDomain: b.test, rootNamespace: policies}")}, "blue",
			"Revisions differ, blue (trust domain a.test, root namespace istio-system) and green (trust domain b.test, root namespace policies): pods count by the one that injected them, and gateways get their certificates from istiod-blue.istio-system.svc, in trust domain a.test, unless", "a.test"},
		{"one that cannot be read", "", []string{blue, configOf("green", "{")}, "blue", "green (ConfigMap istio-system/istio-green: key", "a.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Dialect{}.Mesh(meshtest.Parse(t, c.objects...))
			if m.Installed != (c.name != "none") || m.Revision != c.revision || m.TrustDomain != c.domain {
				t.Errorf("installed %t, revision %q, trust domain %s; want %q, %s: %s", m.Installed, m.Revision, m.TrustDomain, c.revision, c.domain, c.why)
			}
			if got := strings.Join(m.Says, "\n"); !strings.Contains(got, c.says) || c.says == "" && strings.Contains(got, "Revisions") {
				t.Errorf("it says\n%s\nwant %q", got, c.says)
			}
			for _, say := range m.Says {
				if strings.Count(say, ". ") > 0 || !strings.HasSuffix(say, ".") {
					t.Errorf("%q is not one sentence", say)
				}
			}
		})
	}
}

// TestRevisionsOfPods: a pod counts by the revision that injected it.
func TestRevisionsOfPods(t *testing.T) {
	blue := configOf("blue", "trustDomain: a.test")
	green := configOf("green", "{trustDomain: b.test, trustDomainAliases: [a.test], rootNamespace: policies, meshMTLS: {minProtocolVersion: TLSV1_3}}")
	strict := strings.Replace(wide("STRICT"), "namespace: istio-system", "namespace: policies", 1)
	inNamespace := `{apiVersion: v1, kind: Namespace, metadata: {name: apps, labels: {istio.io/rev: green}}}`
	bare := strings.Replace(shopPod, `,"revision":"default"`, "", 1)
	const names = "spiffe://b.test/ns/apps/sa/shop spiffe://a.test/ns/apps/sa/shop"
	for _, c := range []struct {
		name, why string
		objects   []string
		names     string
		min       string
		detail    string
		blocked   meshsync.Reason
	}{
		{"the only one", "whatever the pod says: there is no other", []string{blue, wide("STRICT"), injectedBy("gone")}, "spiffe://a.test/ns/apps/sa/shop", "1.2", "mode STRICT", ""},
		{"injected by", "", []string{blue, green, strict, injectedBy("green")}, names, "1.3", "mode STRICT: PeerAuthentication policies/default", ""},
		{"by its label", "the annotation does not say", []string{blue, green, strict, labelled("green")}, names, "1.3", "mode STRICT", ""},
		{"by its namespace's", "neither annotation nor label say", []string{blue, green, strict, inNamespace, bare}, names, "1.3", "mode STRICT", ""},
		{"by the other", "its root namespace has no policy", []string{blue, green, strict, injectedBy("blue")}, "spiffe://a.test/ns/apps/sa/shop", "1.2", "mode PERMISSIVE", meshsync.ReasonPermissiveInbound},
		{"by one that is not there, of two that differ", "it may be a tag, and tags are not read", []string{blue, green, strict, labelled("prod")}, "", "1.2",
			"revision prod (label istio.io/rev of the pod) has no ConfigMap istio-prod in namespace istio-system, and blue and green differ", meshsync.ReasonIdentityUnknown},
		{"by one that is not there, of two alike", "an upgrade is over", []string{blue, configOf("green", "trustDomain: a.test"), wide("STRICT"), labelled("prod")}, "spiffe://a.test/ns/apps/sa/shop", "1.2", "mode STRICT", ""},
		{"of a revision that does not let it in", "its sidecars know only their own trust domain", []string{blue, configOf("green", "trustDomain: b.test"), wide("STRICT"), injectedBy("green")}, "", "1.2",
			"sidecars of revision green let in clients of trust domain b.test, and gateways are of a.test (revision blue): add a.test to trustDomainAliases in ConfigMap istio-system/istio-green", meshsync.ReasonIdentityUnknown},
		{"of a revision that cannot be read", "", []string{blue, configOf("green", "{"), injectedBy("green")}, "", "1.2", "ConfigMap istio-system/istio-green: key", meshsync.ReasonIdentityUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := shop(t, append([]string{shopService}, c.objects...)...)
			var got []string
			for _, n := range in.Names {
				got = append(got, n.Value)
			}
			if strings.Join(got, " ") != c.names || in.MinVersion != c.min || in.Blocked != c.blocked || !strings.Contains(in.Detail, c.detail) {
				t.Errorf("names %v, TLS %s, blocked %q, detail %q\nwant %q, %s, %q, %q: %s", got, in.MinVersion, in.Blocked, in.Detail, c.names, c.min, c.blocked, c.detail, c.why)
			}
		})
	}
}

// TestRevisionsRoots: the roots of all revisions count, each place once.
func TestRevisionsRoots(t *testing.T) {
	m := Dialect{}.Mesh(meshtest.Parse(t,
		configOf("blue", `{trustDomain: a.test, caCertificates: [{pem: one}]}`),
		configOf("green", `{trustDomain: a.test, rootNamespace: policies, caCertificates: [{pem: one}, {pem: two}]}`)))
	diff(t, m.Roots, []meshsync.RootsAt{
		{Kind: "ConfigMap", Namespace: "istio-system", Name: "istio-ca-root-cert", Key: "root-cert.pem"},
		{Kind: "ClusterTrustBundle", Name: "istio.io:istiod-ca:root-cert", Signer: "istio.io/istiod-ca"},
		{Kind: "ConfigMap", Namespace: "istio-system", Name: "istio-blue", Key: "mesh", PEM: "one"},
		{Kind: "ConfigMap", Namespace: "policies", Name: "istio-ca-root-cert", Key: "root-cert.pem"},
		{Kind: "ConfigMap", Namespace: "istio-system", Name: "istio-green", Key: "mesh", PEM: "one"},
		{Kind: "ConfigMap", Namespace: "istio-system", Name: "istio-green", Key: "mesh", PEM: "two"},
	}, "all that are there count")
}

// TestRevisionToAsk: who wants a pod in the mesh is told the label that its revision
// looks for.
func TestRevisionToAsk(t *testing.T) {
	for config, want := range map[string]string{
		meshConfigMap(""):    "Label namespace apps with istio-injection=enabled (or istio.io/rev=<revision>)",
		configOf("blue", ""): "Label namespace apps with istio.io/rev=blue,",
	} {
		in := shop(t, shopService, podOf(`labels: {}`, app), config)
		if in.Fix == nil || !strings.HasPrefix(in.Fix.Say, want) {
			t.Errorf("fix %+v, want %q", in.Fix, want)
		}
	}
}
