package cloud

import (
	"reflect"

	"gatehouse.dev/lbmodel"
)

// Hop implements lbmodel.Securing.
func (p *Pool) Hop() string { return p.hop }

// Secures implements lbmodel.Securing.
func (p *Pool) Secures(have lbmodel.Spec) bool {
	there, ok := have.(*Pool)
	return p.TLS != nil && (!ok || !reflect.DeepEqual(p.TLS, there.TLS))
}
