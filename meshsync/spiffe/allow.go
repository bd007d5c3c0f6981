package spiffe

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/workload"
)

var staticEntry = schema.GroupKind{Group: "spire.spiffe.io", Kind: "ClusterStaticEntry"}

// managerAccount is the ServiceAccount of the manager, whose agent is asked.
const managerAccount = "gatehouse-controller-manager"

var (
	_ meshsync.Authorizer = Dialect{}
	_ meshsync.Registrar  = Dialect{}
)

// Permits implements meshsync.Authorizer: no object of SPIRE's refuses a gateway.
func (Dialect) Permits() []schema.GroupVersionKind { return nil }

// Registers implements meshsync.Registrar.
func (Dialect) Registers() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{staticEntry.WithVersion("v1alpha1")}
}

// Allow implements meshsync.Authorizer: what an application asks of its clients is its
// own affair. A registration entry at the SPIRE server makes the gateway somebody.
func (Dialect) Allow(w meshsync.World, _ meshsync.Mesh, e meshsync.Entry) meshsync.Allowance {
	const own = "whom the application lets in, it decides itself"
	if !e.Client.Agent {
		return meshsync.Allowance{Need: meshsync.NeedUnknown, Why: "The gateway's certificate is not an agent's, so it needs no registration entry; " + own + "."}
	}
	for _, o := range w.Objects(staticEntry, "") {
		if workload.Text(o, "spec", "spiffeID") == e.Client.SPIFFEID {
			return meshsync.Allowance{Need: meshsync.NotNeeded, Why: "ClusterStaticEntry " + o.GetName() + " registers the gateway; " + own + "."}
		}
	}
	return meshsync.Allowance{
		Need: meshsync.NeedUnknown,
		Why:  "Whether SPIRE's server has a registration entry for the gateway is in no object of the cluster; " + own + ".",
		Offers: []meshsync.Offer{{
			Say: "Registers Gateway " + e.Client.Name + " at SPIRE's server, for the manager's pod; $AGENT is the SPIFFE ID of its node's agent (spire-server agent list).",
			Command: fmt.Sprintf("spire-server entry create -parentID \"$AGENT\" -selector k8s:ns:%s -selector k8s:sa:%s -spiffeID %s -x509SVIDTTL 86400",
				e.Client.Account.Namespace, managerAccount, e.Client.SPIFFEID),
		}},
	}
}
