package linkerd

import "gatehouse.dev/meshsync"

// policy is what becomes of a client that no AuthorizationPolicy names: a default
// inbound policy, or the accessPolicy of a Server.
type policy string

// The policies.
const (
	allUnauthenticated     policy = "all-unauthenticated"
	allAuthenticated       policy = "all-authenticated"
	clusterUnauthenticated policy = "cluster-unauthenticated"
	clusterAuthenticated   policy = "cluster-authenticated"
	deny                   policy = "deny"
	audit                  policy = "audit"
)

// parsePolicy reads a policy; none denies. A word that is not known stays, and lets in
// nobody for sure.
func parsePolicy(text string) policy { return policy(or(text, string(deny))) }

// known says that the word is one of the policies.
func (p policy) known() bool {
	switch p {
	case allUnauthenticated, allAuthenticated, clusterUnauthenticated, clusterAuthenticated, deny, audit:
		return true
	default:
		return false
	}
}

// anybody says that a client without a certificate is let in, wherever it is.
func (p policy) anybody() bool { return p == allUnauthenticated || p == audit }

// others is what becomes of clients without a certificate, of the networks that
// the policy lets in.
func (p policy) others() meshsync.Otherwise {
	if p.anybody() || p == clusterUnauthenticated {
		return meshsync.Passes
	}
	return meshsync.Resets
}

// strictness orders policies for the case of several that disagree.
func (p policy) strictness() int {
	switch p {
	case allUnauthenticated, audit:
		return 0
	case clusterUnauthenticated:
		return 1
	case allAuthenticated:
		return 2
	case clusterAuthenticated:
		return 3
	default:
		return 4
	}
}

// says is what the policy means for a gateway outside the cluster, as a sentence.
func (p policy) says() string {
	switch p {
	case allUnauthenticated, audit:
		return "The default inbound policy " + string(p) + " lets in clients without a certificate; a gateway's is verified and known to the proxy all the same."
	case clusterUnauthenticated, clusterAuthenticated:
		return "The default inbound policy " + string(p) + " lets in only addresses of clusterNetworks (private ranges): " +
			"those of a load balancer may lie outside (Google's 130.211.0.0/22 and 35.191.0.0/16 do), and then need an AuthorizationPolicy with their NetworkAuthentication."
	case allAuthenticated:
		return "The default inbound policy all-authenticated lets in every client with a certificate of the mesh, and no other."
	case deny:
		return "The default inbound policy deny lets in nobody: gateways need an AuthorizationPolicy that names them, which `gatehouse mesh allow` prints."
	default:
		return "The policy " + string(p) + " is none that is known here: gateways may need an AuthorizationPolicy that names them."
	}
}
