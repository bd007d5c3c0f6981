package consul

import (
	"fmt"

	"gatehouse.dev/meshsync"
)

// domainFix is what to do where nobody has named the CA's trust domain: it is asked
// for where the chart installs the servers, and named as the mesh's roots.
func domainFix(s settings) *meshsync.Fix {
	return &meshsync.Fix{Say: fmt.Sprintf(
		"Ask Consul for its trust domain: TRUST_DOMAIN=$(kubectl -n %[1]s exec consul-server-0 -c consul -- curl -sk https://localhost:8501/v1/connect/ca/roots | jq -r .TrustDomain), "+
			"and name it in the MeshBinding: kubectl patch meshbinding $NAME --type merge -p "+
			`'{"spec":{"trustBundles":[{"kind":"ConsulRoots","name":"'$TRUST_DOMAIN'","url":"grpcs://consul-server.%[1]s.svc:8503","serverName":"server.%[2]s.consul"}]}}'`+
			"; its serverRoots are entry tls.crt of Secret %[1]s/consul-ca-cert.", s.Namespace, s.Datacenter)}
}
