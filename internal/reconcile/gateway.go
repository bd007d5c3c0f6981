package reconcile

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// Gateway is one gateway in a pass.
type Gateway struct {
	Key    translate.Key
	Result translate.Result
	// Served is the gateway as its provider will serve it: after Restrict.
	Served lbmodel.Gateway
	// Findings are those of translation, of Restrict and of the provider's
	// compiler, each once. Refused are those that are not translation's.
	Findings []lbmodel.Finding
	Refused  []lbmodel.Finding
	// Paused says that nothing is changed for it, nor deleted: it has the annotation
	// gatehouse.dev/paused.
	Paused bool
}

// PausedAnnotation pauses a Gateway or a Service, whatever its value, but "false".
const PausedAnnotation = "gatehouse.dev/paused"

func paused(obj any) bool {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return false
	}
	value, there := meta.GetAnnotations()[PausedAnnotation]
	return there && value != "false"
}

// Read translates and restricts one gateway. It is pure: no provider is asked
// but for its features.
func Read(x *translate.Index, key translate.Key) Gateway {
	return restricted(Gateway{Key: key, Result: x.Gateway(key), Paused: paused(x.Object(key))}, x)
}

// restricted is a gateway with what its provider makes of its result.
func restricted(g Gateway, x *translate.Index) Gateway {
	g.Findings, g.Refused = slices.Clone(g.Result.Findings), nil
	g.Served = g.Result.Gateway
	if features, ok := x.Features(g.Key); ok {
		var refused []lbmodel.Finding
		g.Served, refused = lbmodel.Restrict(g.Result.Gateway, features)
		g.add(refused)
	}
	return g
}

// add keeps each finding once: an account restricts again, for itself.
func (g *Gateway) add(more []lbmodel.Finding) {
	if len(more) == 0 {
		return
	}
	known := make(map[lbmodel.Finding]bool, len(g.Findings))
	for _, f := range g.Findings {
		known[f] = true
	}
	for _, f := range more {
		if !known[f] {
			known[f] = true
			g.Findings = append(g.Findings, f)
			g.Refused = append(g.Refused, f)
		}
	}
}

// Planned says whether anything may be planned for the gateway.
func (g Gateway) Planned() bool { return !g.Result.Gone && g.Result.Skip == "" }
