package meshsync

import (
	"crypto/sha256"
	"encoding/hex"

	"gatehouse.dev/lbmodel"
)

// AccountOf is the ServiceAccount by which a gateway is known to meshes. It is in
// the controller's own namespace, so that who may write in a Gateway's namespace
// cannot mint its identity, and its name depends on the gateway's kind, namespace
// and name and on its class, but not on its UID: a gateway that is made anew is
// whom the mesh's policies already name. It has no dot, which Linkerd refuses.
func AccountOf(owner lbmodel.Owner, class, namespace string) Account {
	// None of the first three can have a slash, so no two gateways share a text.
	sum := sha256.Sum256([]byte(owner.Kind + "/" + owner.Namespace + "/" + owner.Name + "/" + class))
	return Account{Namespace: namespace, Name: "gatehouse-" + hex.EncodeToString(sum[:8])}
}
