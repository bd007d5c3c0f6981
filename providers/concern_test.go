package providers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

type needing struct{ ids []lbmodel.ID }

func (n needing) Needs() []lbmodel.ID { return n.ids }

// Why: gateways share a plan, and the status of each must be about itself. What
// both need is both's business, the other's own never is.
func TestConcerns(t *testing.T) {
	id := func(name string) lbmodel.ID { return lbmodel.ID{Kind: "Box", Name: name} }
	a, b, gone := lbmodel.Owner{Name: "a"}, lbmodel.Owner{Name: "b"}, lbmodel.Owner{Name: "gone"}
	of := func(owner lbmodel.Owner, needs ...lbmodel.ID) lbmodel.Resource {
		return lbmodel.Resource{Owner: owner, Spec: needing{needs}}
	}
	remove := func(name string, owner lbmodel.Owner, hold lbmodel.Hold) lbmodel.Step {
		return lbmodel.Step{Verb: lbmodel.Delete, ID: id(name), Hold: hold, Have: lbmodel.Resource{Owner: owner}}
	}
	p := Plan{placed: lbmodel.Graph{
		id("a"): of(a, id("roots")), id("b"): of(b, id("roots"), id("net")),
		id("roots"): of(lbmodel.Owner{}).With(lbmodel.Shared), id("net"): of(lbmodel.Owner{}).With(lbmodel.External),
		id("lonely"): of(lbmodel.Owner{}).With(lbmodel.Shared),
	}}
	p.Steps = []lbmodel.Step{remove("old", gone, lbmodel.Own), remove("orphan", lbmodel.Owner{}, lbmodel.Shared)}
	p.Held.Steps = []lbmodel.Step{remove("kept", b, lbmodel.Own)}
	want := map[lbmodel.Owner]map[lbmodel.ID]bool{
		a:    {id("a"): true, id("roots"): true},
		b:    {id("b"): true, id("roots"): true, id("net"): true, id("kept"): true},
		gone: {id("old"): true},
	}
	if diff := cmp.Diff(want, p.Concerns()); diff != "" {
		t.Errorf("Concerns (-want +got):\n%s", diff)
	}
}
