package istio

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/meshsync"
)

// Mode is how a pod takes mutual TLS, as PeerAuthentication has it.
type Mode string

// The modes.
const (
	Unset      Mode = ""           // as the wider policy has it; PERMISSIVE at the end
	Permissive Mode = "PERMISSIVE" // mutual TLS of Istio's own clients, and anything else as it is
	Strict     Mode = "STRICT"     // mutual TLS only
	Disable    Mode = "DISABLE"
)

// policy is a PeerAuthentication.
type policy struct {
	object   *unstructured.Unstructured
	selector map[string]string // empty: all of the namespace
	mode     Mode
	ports    map[int32]Mode // by the pod's own port
	// problem is what of it Istio's API refuses. Its selector may then be empty
	// because it could not be read.
	problem string
}

// authentication is what holds at one port of a pod.
type authentication struct {
	mode    Mode
	decides string  // the object and field that say so
	own     *policy // that selects the pod: another one made now would lose against it
	problem string
}

// policiesOf are a namespace's, oldest first.
func policiesOf(w meshsync.World, namespace string) []policy {
	objects := byAge(w.Objects(peerAuthentication, namespace))
	out := make([]policy, len(objects))
	for i, o := range objects {
		out[i] = readPolicy(o)
	}
	return out
}

// byAge is the order in which Istio takes the first of several: oldest first, of
// one age by name.
func byAge(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	if len(objects) < 2 {
		return objects
	}
	out := slices.Clone(objects)
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		if c := x.Compare(y.Time); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return out
}

// meshWide is what the root namespace's policies set for all of the mesh.
func meshWide(root []policy) authentication {
	a := authentication{mode: Permissive, decides: "no PeerAuthentication says otherwise: it is Istio's default"}
	a.wide(root)
	return a
}

// effective is what holds for a pod with labels at its own port, where own are the
// policies of its namespace (none for pods of the root namespace, whose policies
// with a selector Istio ignores). The narrowest that sets a mode wins: the port,
// the policy that selects the pod, the namespace's without a selector, the mesh's.
// Of several of a kind the oldest counts, also if it sets nothing. Modes of ports
// count only in a policy that selects the pod.
func effective(mesh authentication, own []policy, labels map[string]string, port int32) authentication {
	a := mesh
	a.wide(own)
	for i := range own {
		p := &own[i]
		if len(p.selector) == 0 || !subset(p.selector, labels) {
			continue
		}
		if p.problem != "" {
			a.problem = p.problem
		}
		a.own = p
		a.take(p.mode, p.says("mtls.mode"))
		a.take(p.ports[port], p.says(fmt.Sprintf("portLevelMtls[%d].mode", port)))
		return a
	}
	return a
}

// wide takes the oldest policy without a selector.
func (a *authentication) wide(policies []policy) {
	found := false
	for i := range policies {
		p := &policies[i]
		switch {
		case len(p.selector) > 0:
		case p.problem != "":
			// Its selector may be what cannot be read: it may concern any pod.
			a.problem = p.problem
		case !found:
			found = true
			a.take(p.mode, p.says("mtls.mode"))
		}
	}
}

func (a *authentication) take(m Mode, decides string) {
	if m != Unset {
		a.mode, a.decides = m, decides
	}
}

func (p policy) says(field string) string { return p.name() + ", field spec." + field }

func (p policy) name() string {
	return "PeerAuthentication " + p.object.GetNamespace() + "/" + p.object.GetName()
}

func subset(want, have map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
