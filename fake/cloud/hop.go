package cloud

import (
	"reflect"

	"gatehouse.dev/lbmodel"
)

// Hop implements lbmodel.Securing.
func (p *Pool) Hop() string { return p.hop }

// Protection implements lbmodel.Protected.
func (p *Pool) Protection() lbmodel.TLSLevel {
	if p.TLS == nil {
		return lbmodel.TLSNone
	}
	return (&lbmodel.BackendTLS{Trust: p.TLS.Trust, Identity: p.TLS.Identity}).Level()
}

// Impact implements lbmodel.Explained.
func (p *Pool) Impact(verb lbmodel.Verb, have lbmodel.Spec) string {
	there, ok := have.(*Pool)
	if verb != lbmodel.Update || !ok {
		return ""
	}
	return lbmodel.Downgrade(there.Protection(), p.Protection())
}

// Secures implements lbmodel.Securing.
func (p *Pool) Secures(have lbmodel.Spec) bool {
	there, ok := have.(*Pool)
	return p.TLS != nil && (!ok || !reflect.DeepEqual(p.TLS, there.TLS))
}
