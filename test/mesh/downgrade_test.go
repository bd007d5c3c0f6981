package mesh

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestDowngradeAsks: what takes a backend out of a mesh that it was reached in is not done
// before somebody agrees, and until then it is spoken to as before.
func TestDowngradeAsks(t *testing.T) {
	for _, c := range []struct {
		name, why string
		change    func(*world)
	}{
		{"the binding is deleted", "nobody says any more that the mesh is to be trusted", func(w *world) { w.put("binding", "") }},
		{"no Gateway is let in any more", "a selector may be mistyped", func(w *world) {
			w.put("binding", strings.Replace(w.bindingYAML(), `edge: "true"`, `edge: "ture"`, 1))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := withPods(t, istioMesh(), options{})
			w.settle()
			w.works("before")
			w.writes.take()
			c.change(w)
			w.write()
			_, err := w.stack.Reload(t.Context())
			w.do(err)
			planned, err := w.stack.Loop.Plan(t.Context(), w.stack.Loop.Index().Gateways(), lbmodel.HoldDisruptive)
			w.do(err)
			var asked []string
			for _, wait := range planned.Plan().Later {
				if wait.Reason == lbmodel.WaitApproval {
					asked = append(asked, wait.String())
				}
			}
			const says = "backends that are reached with TLS ClientAndServer would be reached with TLS None"
			if !strings.Contains(strings.Join(asked, "\n"), says) {
				t.Fatalf("asked is %q, want %q: %s", asked, says, c.why)
			}
			w.stack.Loop.Apply(t.Context(), planned, nil)
			w.do(w.stack.Local.Program(t.Context()))
			w.works("while nobody has agreed")
			w.settle() // somebody agrees
			again, err := w.stack.Loop.Plan(t.Context(), w.stack.Loop.Index().Gateways(), lbmodel.HoldDisruptive)
			w.do(err)
			if later := again.Plan().Waiting(); !again.Empty() || len(later) > 0 {
				t.Errorf("once agreed, %v is to be done and %v waits", again.Plan().Steps, later)
			}
		})
	}
}
