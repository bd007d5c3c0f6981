package meshsync_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// TestAccountOf gives every gateway of every class an account of its own.
func TestAccountOf(t *testing.T) {
	edge := lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "shop", Name: "edge", UID: "1"}
	again, moved := edge, edge
	again.UID, again.Cluster = "2", "other"
	moved.Namespace, moved.Name = "shop-edge", "edge"
	service, shifted := edge, edge
	service.Kind = "Service"
	shifted.Namespace, shifted.Name = "sho", "pedge"

	want := Account{Namespace: "gatehouse-system", Name: "gatehouse-a82eb0d34c63a052"}
	if got := AccountOf(edge, "internal", "gatehouse-system"); got != want {
		t.Errorf("%v, want %v: policies of meshes name it", got, want)
	}
	if got := AccountOf(again, "internal", "gatehouse-system"); got != want {
		t.Errorf("%v, want %v: a gateway made anew is another to the mesh", got, want)
	}
	seen := map[Account]string{want: "edge"}
	for name, a := range map[string]Account{
		"another class": AccountOf(edge, "public", "gatehouse-system"), "another namespace": AccountOf(moved, "internal", "gatehouse-system"),
		"a Service": AccountOf(service, "internal", "gatehouse-system"), "other letters": AccountOf(shifted, "internal", "gatehouse-system"),
	} {
		if other, taken := seen[a]; taken {
			t.Errorf("%s has the account of %s", name, other)
		}
		seen[a] = name
		if errs := validation.IsDNS1123Label(a.Name); len(errs) > 0 {
			t.Errorf("%s: Linkerd refuses %q: %v", name, a.Name, errs)
		}
	}
}
