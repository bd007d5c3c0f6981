package meshsync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"slices"

	"gatehouse.dev/lbmodel"
)

// accepts is what tells groups apart: what pods accept, without whom they name and
// what is said to people. Its JSON is what keys are made of, and pools are named
// after keys: a new field must be omitted when zero, so that no pool changes its
// name with a new release.
type accepts struct {
	Chains      []Chain              `json:"chains,omitempty"`
	Otherwise   Otherwise            `json:"otherwise,omitzero"`
	SNI         string               `json:"sni,omitzero"`
	Names       []lbmodel.SAN        `json:"names,omitempty"` // only with SNI, which binds them
	Named       bool                 `json:"named,omitzero"`  // pods without a name lend themselves none of others
	Port        int32                `json:"port,omitzero"`
	Plain       bool                 `json:"plain,omitzero"`
	Blocked     Reason               `json:"blocked,omitzero"`
	AnyClient   bool                 `json:"anyClient,omitzero"`
	Unasked     bool                 `json:"unasked,omitzero"`
	MinVersion  string               `json:"minVersion,omitzero"`
	ClientKeys  []string             `json:"clientKeys,omitempty"`
	Health      *lbmodel.HealthCheck `json:"health,omitzero"`
	ProxyHealth bool                 `json:"proxyHealth,omitzero"`
}

// keyOf is the Key of the pod's group.
func keyOf(in *Inbound) string {
	switch membershipOf(in) {
	case NotMeshed:
		return keyNone
	case MembershipUnknown:
		return keyUnknown
	}
	text, err := json.Marshal(acceptsOf(in))
	if err != nil {
		// Strings, numbers and booleans: there is nothing that could fail, and a pod
		// that cannot be told from others is not known.
		return keyUnknown
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// alike says that two have one key, without making it. It may say no of some that
// have.
func alike(a, b *Inbound) bool {
	return a.Membership == b.Membership && a.SNI == "" && b.SNI == "" && (len(a.Names) > 0) == (len(b.Names) > 0) &&
		a.Port == b.Port && a.Otherwise == b.Otherwise && a.Plain == b.Plain && a.Blocked == b.Blocked &&
		a.AnyClient == b.AnyClient && a.Unasked == b.Unasked && a.MinVersion == b.MinVersion && a.ProxyHealth == b.ProxyHealth &&
		slices.Equal(a.ClientKeys, b.ClientKeys) && sameHealth(a.Health, b.Health) && slices.EqualFunc(a.Chains, b.Chains, sameChain)
}

func sameHealth(a, b *lbmodel.HealthCheck) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func sameChain(a, b Chain) bool {
	return a.HTTP == b.HTTP && slices.Equal(a.Offer, b.Offer) && slices.Equal(a.Selects, b.Selects)
}

// membershipOf is Unknown for what no pod can have.
func membershipOf(in *Inbound) Membership {
	if in.Membership == Meshed || in.Membership == NotMeshed {
		return in.Membership
	}
	return MembershipUnknown
}

func acceptsOf(in *Inbound) accepts {
	out := accepts{
		Chains: in.Chains, Otherwise: in.Otherwise, SNI: in.SNI, Named: len(in.Names) > 0, Port: in.Port,
		Plain: in.Plain, Blocked: in.Blocked, AnyClient: in.AnyClient, Unasked: in.Unasked, MinVersion: in.MinVersion,
		ClientKeys: in.ClientKeys, Health: in.Health, ProxyHealth: in.ProxyHealth,
	}
	if in.SNI != "" {
		out.Names = slices.Clone(in.Names)
		slices.SortFunc(out.Names, compareNames)
		out.Names = slices.Compact(out.Names)
	}
	if in.Health != nil {
		health := *in.Health
		health.Source = lbmodel.Source{} // names the pod
		out.Health = &health
	}
	return out
}
