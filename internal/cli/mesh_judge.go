package cli

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// groupAt names a group of pods, as one mesh sees it.
type groupAt struct {
	binding translate.Key
	service translate.Key
	port    int32
	key     string
}

func at(g translate.MeshGroup) groupAt {
	return groupAt{g.Binding, g.Service, g.Port, g.Group.Key}
}

// withRoutes gives the groups what the routes of gateways that are there come to: a
// binding's selector may name a route, a landing pad may help, a route may speak
// another protocol. Of several verdicts the worst groupCounts.
func (v view) withRoutes(r translate.MeshReport, class string) translate.MeshReport {
	found := map[groupAt]translate.MeshGroup{}
	for _, key := range v.index.Gateways() {
		if !v.isOf(key, class) {
			continue
		}
		for _, m := range v.index.Gateway(key).Meshes {
			for _, g := range m.Groups {
				if have, ok := found[at(g)]; !ok || worseVerdict(g.Verdict, have.Verdict) {
					g.Selected = g.Selected || have.Selected
					found[at(g)] = g
				}
			}
		}
	}
	for i := range r.Groups {
		if g, ok := found[at(r.Groups[i])]; ok {
			r.Groups[i].Verdict, r.Groups[i].Selected = g.Verdict, g.Selected
		}
	}
	return r
}

// isOf says whether a Gateway is of a class; any is of "".
func (v view) isOf(key translate.Key, class string) bool {
	g, is := v.index.Object(key).(*gwv1.Gateway)
	return is && (class == "" || string(g.Spec.GatewayClassName) == class)
}

// worseVerdict says whether a lets less through than b, or protects it less.
func worseVerdict(a, b meshsync.Verdict) bool {
	rank := func(v meshsync.Verdict) int {
		return map[meshsync.Path]int{meshsync.Blocked: 0, meshsync.LandingPad: 1, meshsync.Direct: 2}[v.Path]
	}
	return rank(a) < rank(b) || rank(a) == rank(b) && b.TLS.AtLeast(a.TLS) && a.TLS != b.TLS
}

// state is what a group is counted as.
type meshState string

// The states.
const (
	stateDirect     meshState = "direct"
	stateLandingPad meshState = "landingPad"
	stateBlocked    meshState = "blocked"
	stateOwnTLS     meshState = "ownTLS"
	stateNotMeshed  meshState = "notMeshed"
)

func stateOf(v meshsync.Verdict) meshState {
	switch {
	case v.Path == meshsync.Blocked:
		return stateBlocked
	case v.Path == meshsync.LandingPad:
		return stateLandingPad
	case v.OwnTLS:
		return stateOwnTLS
	case v.BackendTLS == nil:
		return stateNotMeshed
	default:
		return stateDirect
	}
}

// checked is the answer of mesh check, as data.
type checked struct {
	Class  string        `json:"class"` // "" is one whose provider can do everything
	Meshes []checkedMesh `json:"meshes"`
	// Outside are the groups that are in no mesh, unless their Service is in one too.
	Outside []checkedGroup `json:"outside"`
	Counts  groupCounts    `json:"counts"` // without the meshes that nobody binds
	// Refused are gateways that reach pods whose mesh does not let them in.
	Refused []checkedRefusal `json:"refused"`
	// Unread are the MeshBindings that could not be read, and files that may hold one.
	Unread []string `json:"unread,omitzero"`
}

// checkedRefusal is a gateway and the Services' ports at which it is refused.
type checkedRefusal struct {
	Gateway string   `json:"gateway"`
	At      []string `json:"at"`
}

type checkedMesh struct {
	Mesh        string         `json:"mesh"`
	Binding     string         `json:"binding,omitzero"` // "": it is there, and not bound
	Installed   bool           `json:"installed"`
	TrustDomain string         `json:"trustDomain,omitzero"`
	Roots       []checkedRoot  `json:"roots"`
	Gateways    []string       `json:"gateways"`
	Says        []string       `json:"says"`
	Problems    []string       `json:"problems"`
	Groups      []checkedGroup `json:"groups"`
	Counts      groupCounts    `json:"groupCounts"`
}

type checkedRoot struct {
	Subject  string `json:"subject,omitzero"`
	SHA256   string `json:"sha256"`
	NotAfter string `json:"notAfter"`
}

type checkedGroup struct {
	Service    string              `json:"service"`
	Port       int32               `json:"port"`
	Accounts   []string            `json:"accounts"`
	Pods       []string            `json:"pods"`
	Membership meshsync.Membership `json:"membership"`
	Path       meshsync.Path       `json:"path"`
	Reason     meshsync.Reason     `json:"reason,omitzero"`
	Detail     string              `json:"detail,omitzero"`
	TLS        lbmodel.TLSLevel    `json:"tls,omitzero"`
	Losses     []meshsync.Loss     `json:"losses"`
	Selected   bool                `json:"selected"` // by the binding's labelSelector
	SNI        string              `json:"sni,omitzero"`
	Names      []lbmodel.SAN       `json:"names"`
	Fix        *checkedFix         `json:"fix,omitzero"`
}

type checkedFix struct {
	Say  string `json:"say"`
	YAML string `json:"yaml,omitzero"`
}

// groupCounts are of groups of pods.
type groupCounts struct {
	Direct     int `json:"direct"`
	WithLosses int `json:"withLosses"` // of the direct ones
	LandingPad int `json:"landingPad"`
	Blocked    int `json:"blocked"`
	OwnTLS     int `json:"ownTLS"`
	NotMeshed  int `json:"notMeshed"`
}

func (c *groupCounts) add(v meshsync.Verdict) {
	switch stateOf(v) {
	case stateBlocked:
		c.Blocked++
	case stateLandingPad:
		c.LandingPad++
	case stateOwnTLS:
		c.OwnTLS++
	case stateNotMeshed:
		c.NotMeshed++
	default:
		c.Direct++
		if len(v.Losses) > 0 {
			c.WithLosses++
		}
	}
}

func (c *groupCounts) plus(o groupCounts) {
	c.Direct += o.Direct
	c.WithLosses += o.WithLosses
	c.LandingPad += o.LandingPad
	c.Blocked += o.Blocked
	c.OwnTLS += o.OwnTLS
	c.NotMeshed += o.NotMeshed
}
