package cloud

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"gatehouse.dev/lbmodel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestCompile compares what a gateway compiles to. Each folder of testdata has a
// gateway.yaml, whose first comment says why the case is there, and the graph.json
// of it: one resource a line, then the findings.
func TestCompile(t *testing.T) {
	folders, err := filepath.Glob("testdata/*/gateway.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, path := range folders {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			gw := readGateway(t, path)
			own, shared, findings := NewProvider(nil, nil).Compile(gw)
			got := graphText(t, own, shared, findings)
			golden := filepath.Join(dir, "graph.json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func readGateway(t *testing.T, path string) lbmodel.Gateway {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("# ")) {
		t.Errorf("%s does not begin with a comment that says why it is there", path)
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return *fromJSON[lbmodel.Gateway](t, encode(tree))
}

// graphText is a compiled graph as a golden file.
func graphText(t *testing.T, own, shared lbmodel.Graph, findings []lbmodel.Finding) []byte {
	t.Helper()
	all := maps.Clone(own)
	maps.Copy(all, shared)
	var out bytes.Buffer
	out.WriteString("[\n")
	for _, id := range slices.SortedFunc(maps.Keys(all), lbmodel.ID.Compare) {
		r := all[id]
		line := struct {
			ID   string       `json:"id"`
			Hold string       `json:"hold"`
			Slot string       `json:"slot,omitzero"`
			Spec lbmodel.Spec `json:"spec"`
		}{id.String(), r.Hold.String(), slotOf(r.Spec.(Body)), r.Spec}
		out.Write(append(encode(line), ",\n"...))
	}
	for _, f := range findings {
		out.Write(append(encode(f), ",\n"...))
	}
	out.WriteString("null\n]\n")
	return out.Bytes()
}

// Why: what cannot be changed in place must change the name, and nothing else may.
func TestNamesFollowIdentity(t *testing.T) {
	tests := []struct {
		name, why string
		change    func(*lbmodel.Gateway)
		kinds     []string // whose names change
	}{
		{"re-created gateway", "the new one does not adopt the dying one's objects", func(g *lbmodel.Gateway) { g.Owner.UID = "u2" },
			[]string{KindAddress, KindBalancer, KindCertificate, KindListener, KindPool, KindRule}},
		{"other cluster", "clusters share accounts", func(g *lbmodel.Gateway) { g.Owner.Cluster = "c2" },
			[]string{KindAddress, KindBalancer, KindCertificate, KindListener, KindPool, KindRule}},
		{"request for an address", "an address cannot be changed", func(g *lbmodel.Gateway) {
			g.Addresses = []lbmodel.AddressRequest{{Type: lbmodel.AddressIP, Value: "127.71.0.7"}}
		}, []string{KindAddress}},
		{"family of the address", "the pool has that family alone, so it is the same request", func(g *lbmodel.Gateway) {
			g.Addresses = []lbmodel.AddressRequest{{Type: lbmodel.AddressIP, Family: lbmodel.IPv4}}
		}, nil},
		{"prefixes", "an address cannot be moved", func(g *lbmodel.Gateway) { g.Settings = json.RawMessage(`{"addressPool":["127.72.0.0/16"]}`) }, []string{KindAddress}},
		{"protocol of a pool", "as of a target group", func(g *lbmodel.Gateway) { g.Pools[0].Protocol = lbmodel.PoolH2C }, []string{KindPool}},
		{"TCP to UDP", "the endpoints are others too", func(g *lbmodel.Gateway) { g.Pools[2].Protocol = lbmodel.PoolUDP }, []string{KindEndpointGroup, KindPool}},
		{"port of a listener", "with all that lives in it", func(g *lbmodel.Gateway) { g.Listeners[0].Port = 81 }, []string{KindListener, KindRule}},
		{"match of a rule", "it is another rule", func(g *lbmodel.Gateway) { g.Listeners[0].Rules[0].Match.Method = "PUT" }, []string{KindRule}},
		{"everything else", "is an update in place", func(g *lbmodel.Gateway) {
			g.Pools[0].TLS = &lbmodel.BackendTLS{SNI: "x", Trust: "mesh-roots"}
			g.Trust[0].Roots, g.Identities[0].KeyType = nil, "RSA"
			g.Listeners[0].Rules[0].Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 500}}
			g.Listeners[1].TLS.Validation, g.Listeners[0].Rules[0].Name, g.Listeners[0].Name = nil, "n", "l"
			g.Labels = map[string]string{"a": "b"}
			g.Listeners[0].SourceRanges = []string{"10.0.0.0/8"}
		}, nil},
	}
	keys := newKeyring()
	base := shop(t, keys)
	before := idsOf(NewProvider(nil, nil), base)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			gw := cloneOf(t, base)
			tc.change(&gw)
			changed := map[string]bool{}
			for id := range idsOf(NewProvider(nil, nil), gw) {
				if !before[id] {
					changed[id.Kind] = true
				}
			}
			if diff := cmp.Diff(tc.kinds, slices.Sorted(maps.Keys(changed))); diff != "" {
				t.Errorf("%s\n%s", tc.why, diff)
			}
		})
	}
}

func idsOf(p *Provider, gw lbmodel.Gateway) map[lbmodel.ID]bool {
	own, shared, _ := p.Compile(gw)
	out := map[lbmodel.ID]bool{}
	for id := range own {
		out[id] = true
	}
	for id := range shared {
		out[id] = true
	}
	return out
}

func TestEndpointsIsThatPartOfCompile(t *testing.T) {
	p, gw := NewProvider(nil, nil), shop(t, newKeyring())
	_, shared, _ := p.Compile(gw)
	for _, one := range gw.Pools {
		for id, r := range p.Endpoints(gw.Owner, one, gw.Settings) {
			if shared[id].Digest != r.Digest || r.Hold != lbmodel.Shared {
				t.Errorf("%s is not as Compile has it", id)
			}
		}
	}
}

// Why: a feature that is added to the model must be offered or left out by
// decision, not by oversight.
func TestEveryFeatureIsOffered(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../lbmodel/features.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Feature") {
			return true
		}
		n++
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || !slices.Contains(offered, lbmodel.Feature(value)) {
			t.Errorf("%s is not offered", spec.Names[0].Name)
		}
		return true
	})
	if n < 60 {
		t.Errorf("only %d features were found: the test looks in the wrong place", n)
	}
}

// Why: M5 - a typo in addressPool said "it is left out" and then refused the whole
// gateway; a gateway without an address must not be moved to the default pool
// either. Text and behaviour are one.
func TestAddressPoolThatCannotBeRead(t *testing.T) {
	raw := json.RawMessage(`{"addressPool":["127.72.0.0/16","127.71.0/16"]}`)
	_, found := NewProvider(nil, nil).Offers(raw)
	if len(found) != 1 {
		t.Fatalf("%d findings, want one: %+v", len(found), found)
	}
	for _, want := range []string{"addressPool[1]", `"127.71.0/16"`, "no address can be given", "waits", "corrected or taken out"} {
		if !strings.Contains(found[0].Detail, want) {
			t.Errorf("the finding %q does not say %q", found[0].Detail, want)
		}
	}
	own, _, _ := NewProvider(nil, nil).Compile(lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge"}, Settings: raw,
	})
	for id := range own {
		if id.Kind == KindAddress {
			t.Errorf("%s is reserved all the same", id)
		}
	}
}

func TestOffers(t *testing.T) {
	tests := []struct {
		name, why, settings string
		without             []lbmodel.Feature
		says                string // of the finding; "" is none
	}{
		{"none", "everything has a default", "", nil, ""},
		{"without", "to see what a weaker provider would say", `{"without":["Mirror","GRPC"]}`, []lbmodel.Feature{lbmodel.FeatureMirror, lbmodel.FeatureGRPC}, ""},
		{"misspelt feature", "it would take nothing away, in silence", `{"without":["mirror"]}`, nil, `no feature "mirror"`},
		{"misspelt field", "and the rest counts", `{"wihtout":["GRPC"],"without":["Mirror"]}`, []lbmodel.Feature{lbmodel.FeatureMirror}, "wihtout"},
		{"wrong type", "and the rest counts", `{"location":7,"without":["Mirror"]}`, []lbmodel.Feature{lbmodel.FeatureMirror}, "location"},
		{"not a prefix", "an address pool is made of prefixes", `{"addressPool":["127.0.0.1"]}`, nil, `"127.0.0.1" is not a prefix`},
		{"not JSON", "nothing can be read", `[`, nil, "fake:"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			features, findings := NewProvider(nil, nil).Offers(json.RawMessage(tc.settings))
			for _, f := range offered {
				if f == lbmodel.FeatureIPv6 { // see TestFamilies
					continue
				}
				if features.Offers(f) == slices.Contains(tc.without, f) {
					t.Errorf("%s: offered is %t: %s", f, features.Offers(f), tc.why)
				}
			}
			if (len(findings) > 0) != (tc.says != "") || tc.says != "" && !strings.Contains(findings[0].Detail, tc.says) {
				t.Errorf("findings %+v, want one with %q", findings, tc.says)
			}
		})
	}
}
