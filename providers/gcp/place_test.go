package gcp

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

var now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// graphOf is what a gateway is placed as, beside what is there.
func graphOf(gw lbmodel.Gateway, have lbmodel.Graph) lbmodel.Graph {
	own, shared, _ := Compiler{}.Compile(gw)
	maps.Copy(own, shared)
	out, _ := Compiler{}.Place(own, have, now)
	return out
}

// issued is a graph in which every certificate that is issued has a leaf.
func issued(g lbmodel.Graph, leaf *lbmodel.Leaf) lbmodel.Graph {
	out := maps.Clone(g)
	for id, r := range g {
		if spec, ok := r.Spec.(*Certificate); ok && spec.Leaf == lbmodel.KnownAfterApply {
			now := *spec
			now.Leaf = leaf.SHA256
			r = placeSpec(r, &now)
			r.Facts.Leaf = leaf
			out[id] = r
		}
	}
	return out
}

const (
	firstAuthority  = "338ce7f9cad220b2e765b30dbbd896d4f3ba561b"
	secondAuthority = "11843e71eba64d0e4c52a934aeeb0a13fe6baafd"
)

func meshLeaf() *lbmodel.Leaf {
	return &lbmodel.Leaf{SHA256: "77", NotBefore: now.Add(-time.Hour), NotAfter: now.Add(23 * time.Hour), Authority: firstAuthority}
}

// secondRoot is a root that is not in the gateway of global-mesh-mtls.
func secondRoot(t *testing.T) lbmodel.Root {
	t.Helper()
	return readGateway(t, "testdata/regional-external/gateway.yaml").Trust[1].Roots[0]
}

// Why: a CA rotation is an update of the roots, and later one of the client
// certificate; nothing that serves is touched, and no old root goes before its time.
func TestRotation(t *testing.T) {
	gw := readGateway(t, "testdata/global-mesh-mtls/gateway.yaml")
	have := issued(graphOf(gw, nil), meshLeaf())
	trust := gw.Trust[0]
	published := func(authorities []string, roots ...lbmodel.Root) lbmodel.Gateway {
		out := gw
		out.Trust, out.Identities = slices.Clone(gw.Trust), slices.Clone(gw.Identities)
		out.Trust[0].Roots = roots
		out.Identities[2].Renew.Authorities = authorities
		return out
	}
	for _, c := range []struct {
		name  string
		gw    lbmodel.Gateway
		steps []string
		roots int
	}{
		{"nothing", gw, nil, 1},
		{"a root comes", published([]string{firstAuthority, secondAuthority}, trust.Roots[0], secondRoot(t)), []string{KindTrustConfig}, 2},
		{"the old one is published no more", published([]string{secondAuthority}, secondRoot(t)), []string{KindTrustConfig, KindCertificate}, 2},
		{"the source cannot be read", func() lbmodel.Gateway {
			out := published([]string{firstAuthority})
			out.Trust[0].Unknown = true
			return out
		}(), nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := graphOf(c.gw, have)
			plan, err := lbmodel.Diff(want, have, have)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, s := range plan.Steps {
				kinds = append(kinds, s.ID.Kind)
				if !s.Flows() {
					t.Errorf("%s waits for somebody's word", s.ID)
				}
			}
			if !slices.Equal(kinds, c.steps) {
				t.Errorf("%v, want %v", kinds, c.steps)
			}
			for _, r := range want {
				if spec, ok := r.Spec.(*TrustConfig); ok && len(spec.Roots) != c.roots {
					t.Errorf("%d roots, want %d", len(spec.Roots), c.roots)
				}
			}
		})
	}
}

// Why: a client certificate is shown only to peers whose roots it came with, so it
// follows them.
func TestClientCertificateFollowsRoots(t *testing.T) {
	follows := 0
	for _, r := range graphOf(readGateway(t, "testdata/global-mesh-mtls/gateway.yaml"), nil) {
		if c, ok := r.Spec.(*Certificate); ok && c.Scope == scopeClientAuth {
			follows += len(c.Follows())
		}
	}
	if follows != 1 {
		t.Errorf("it follows %d", follows)
	}
}

// Why: keys, endpoints and ports that nobody knows anew stay what they are.
func TestPlaceKeeps(t *testing.T) {
	gw := readGateway(t, "testdata/global-mesh-mtls/gateway.yaml")
	have := issued(graphOf(gw, nil), meshLeaf())
	gw.Pools = slices.Clone(gw.Pools)
	for i := range gw.Pools {
		gw.Pools[i].Endpoints = nil
	}
	for id, r := range graphOf(gw, have) {
		if r.Digest != have[id].Digest {
			t.Errorf("%s is %s, was %s", id, encode(r.Spec), encode(have[id].Spec))
		}
	}
	empty := graphOf(gw, nil)
	for id, r := range empty {
		if f, ok := r.Spec.(*Firewall); ok && (!f.Disabled || f.Unknown) {
			t.Errorf("%s lets in before anybody is known: %s", id, encode(f))
		}
	}
}

// Why: what cannot be verified is not served: neither the roots nor what needs them are
// made.
func TestUnknownRootsWait(t *testing.T) {
	gw := readGateway(t, "testdata/global-mesh-mtls/gateway.yaml")
	gw.Trust[0].Roots, gw.Trust[0].Unknown = nil, true
	own, shared, _ := Compiler{}.Compile(gw)
	maps.Copy(own, shared)
	want, findings := Compiler{}.Place(own, nil, now)
	if len(findings) != 1 || findings[0].Reason != "TrustPending" {
		t.Errorf("%v", findings)
	}
	plan, err := lbmodel.Diff(want, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if b, ok := s.Want.(*BackendService); ok && b.TLSSettings != nil {
			t.Errorf("%s is made", s.ID)
		}
	}
}

// Why: law 3. What was before must not show where nothing is kept of it.
func TestCanonicalWithoutHistory(t *testing.T) {
	own, shared, _ := Compiler{}.Compile(newDice(3).gateway(settingsOf("RegionalInternal", assumed)))
	maps.Copy(own, shared)
	placed, _ := Compiler{}.Place(own, nil, now)
	again, findings := Compiler{}.Place(own, placed, now)
	for id, r := range placed {
		if again[id].Digest != r.Digest {
			t.Errorf("%s is placed otherwise the second time", id)
		}
	}
	if len(findings) > 0 || len(again) != len(placed) {
		t.Errorf("%d and %d resources, %v", len(placed), len(again), findings)
	}
}

// Why: an operator who makes firewall rules must be told each with its command, once
// it is missing or lacks a port, and never otherwise.
func TestFirewallRulesAreAskedFor(t *testing.T) {
	gw := readGateway(t, "testdata/firewall-report/gateway.yaml")
	own, shared, _ := Compiler{}.Compile(gw)
	maps.Copy(own, shared)
	id, wanted := lbmodel.ID{}, &Firewall{}
	for at, r := range own {
		if f, ok := r.Spec.(*Firewall); ok {
			id, wanted = at, f
		}
	}
	there := func(f *Firewall) lbmodel.Graph {
		r := lbmodel.NewResource(id, f).With(lbmodel.External)
		return lbmodel.Graph{id: r}
	}
	one := *wanted
	one.Allowed = []Allowed{{IPProtocol: "tcp", Ports: []string{"8080"}}}
	all := *wanted
	all.Allowed, all.TargetTags = []Allowed{{IPProtocol: "tcp"}}, []string{"other"}
	for _, c := range []struct {
		name string
		have lbmodel.Graph
		told bool
	}{{"missing", nil, true}, {"a port is missing", there(&one), true}, {"as told", there(wanted), false}, {"wider", there(&all), false}} {
		t.Run(c.name, func(t *testing.T) {
			out, findings := Compiler{}.Place(own, c.have, now)
			if (len(findings) > 0) != c.told {
				t.Fatal(findings)
			}
			if c.told && !strings.Contains(findings[0].Detail, "gcloud compute firewall-rules create "+id.Name+" --project=my-project --network=projects/my-project/global/networks/default "+
				"--direction=INGRESS --allow=tcp:8080,tcp:15021 --source-ranges=130.211.0.0/22,35.191.0.0/16") {
				t.Error(findings[0].Detail)
			}
			if plan, err := lbmodel.Diff(out, c.have, c.have); err != nil || slices.ContainsFunc(plan.Steps, func(s lbmodel.Step) bool { return s.ID.Kind == KindFirewall }) {
				t.Errorf("%v, %v", err, plan.Steps)
			}
		})
	}
}
