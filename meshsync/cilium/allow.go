package cilium

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
)

var _ meshsync.Authorizer = Dialect{}

// Permits implements meshsync.Authorizer: nothing of Cilium's knows a gateway.
func (Dialect) Permits() []schema.GroupVersionKind { return nil }

// Allow implements meshsync.Authorizer. There is nothing to offer: a CiliumNetworkPolicy
// knows who is outside of the cluster by address only, and from which a load balancer
// connects no object says.
func (Dialect) Allow(_ meshsync.World, m meshsync.Mesh, _ meshsync.Entry) meshsync.Allowance {
	out := meshsync.Allowance{
		Need: meshsync.NeedUnknown,
		Why:  "Cilium has no policy that names a gateway by its identity: a CiliumNetworkPolicy knows clients outside of the cluster by address (fromCIDR, fromEntities world), and a load balancer's are in no object.",
	}
	if s, _ := m.Settings.(settings); s.MutualAuth {
		out.Why += " One that requires mutual authentication refuses it."
	}
	return out
}
