package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// TestStanding: a MeshBinding that could not be read is not one that is not there.
func TestStanding(t *testing.T) {
	for _, c := range []struct {
		name, why string
		mesh      checkedMesh
		unread    []string
		want      string
	}{
		{"not bound", "", checkedMesh{}, nil, "is there, and no MeshBinding binds it"},
		{"unread", "it may be the one that binds it", checkedMesh{}, []string{"MeshBinding/istio"}, "whether a MeshBinding binds it is not known, for this could not be read: MeshBinding/istio"},
		{"bound, another is unread", "this one was read", checkedMesh{Binding: "a"}, []string{"MeshBinding/b"}, "MeshBinding a, which lets no Gateway in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.mesh.standing(c.unread); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q: %s", got, c.want, c.why)
			}
		})
	}
}

// TestUnreadBindings: of what could not be read, only what is known to be something
// else has no MeshBinding in it.
func TestUnreadBindings(t *testing.T) {
	at := manifest.Place{File: "f.yaml", Line: 3}
	binding := lbmodel.Source{Kind: "MeshBinding", Name: "istio"}
	got := unreadBindings(&manifest.Loaded{Problems: []manifest.Problem{
		{Place: at, Object: binding}, {Place: at, Object: binding, Field: "spec"}, {Place: at},
		{Place: at, Object: lbmodel.Source{Kind: "Gateway", Name: "g"}},
	}})
	if diff := cmp.Diff([]string{"MeshBinding/istio", at.String()}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStrangers: a certificate that no proxy of a mesh can verify is a warning about
// its Gateway, and one that is well is none.
func TestStrangers(t *testing.T) {
	edge := reconcile.Gateway{Key: translate.Key{Kind: "Gateway", Namespace: "apps", Name: "edge"}}
	binding := translate.Key{Kind: translate.KindMeshBinding, Name: "istio"}
	edge.Result.Meshes = []translate.Membership{{Binding: binding}, {Binding: binding, Stranger: "it leads nowhere"}}
	want := []lbmodel.Finding{{
		About: lbmodel.Source{Kind: "Gateway", Namespace: "apps", Name: "edge"}, Condition: "gatehouse.dev/MeshMember", Reason: "ForeignCertificate",
		Detail: "MeshBinding/istio: it leads nowhere",
	}}
	got := strangers([]reconcile.Gateway{edge})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if severityOf(got[0]) != warning {
		t.Error("it is no warning: nothing is refused for it")
	}
}
