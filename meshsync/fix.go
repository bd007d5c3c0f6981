package meshsync

import (
	"strings"

	"gatehouse.dev/lbmodel"
)

// What to do instead where the provider cannot.
const orLandingPad = ", or give the MeshBinding a landingPad: a gateway of the mesh that asks less of its clients"

// fix is the dialect's where the pods decide, and a general one where the
// provider, the gateway or the binding does.
func (j judgement) fix(why Reason) *Fix {
	if j.in.Fix != nil && why == j.in.Blocked { // the dialect says why, so it knows better
		return j.in.Fix
	}
	if say := j.generalFix(why); say != "" {
		return &Fix{Say: say}
	}
	if j.in.Fix != nil {
		return j.in.Fix
	}
	switch why {
	case ReasonNotMeshed:
		return &Fix{Say: "Have the mesh inject its proxy and restart the pods, or take the backend out of the MeshBinding's labelSelector."}
	case ReasonIdentityUnknown:
		return &Fix{Say: "Correct what cannot be read, let the endpoints name their pods, or take the backend out of the MeshBinding's labelSelector."}
	default:
		return &Fix{Say: "Let the proxy end TLS of clients that are not the mesh's own at this port" + orLandingPad + "."}
	}
}

func (j judgement) generalFix(why Reason) string {
	switch why {
	case ReasonClientCertificate:
		if j.hop.Anonymous {
			return "Repair what the Gateway's spec.tls.backend.clientCertificateRef names, where it names something, or give the MeshBinding an identity.issuer other than None" + orLandingPad + "."
		}
		if j.unfitKey() {
			return "Use " + strings.Join(j.in.ClientKeys, " or ") + " for the key of the Gateway's spec.tls.backend.clientCertificateRef, or leave the reference out: the certificates that the MeshBinding asks for have such a key."
		}
		return otherClass(lbmodel.FeatureBackendTLSIdentity)
	case ReasonPrivateRoots:
		return otherClass(lbmodel.FeatureBackendTLSTrust)
	case ReasonSNI:
		return otherClass(lbmodel.FeatureBackendTLSSNI)
	case ReasonSAN:
		return "Use a GatewayClass whose provider verifies backends by names of this kind" + orLandingPad + "."
	case ReasonTooManySANs:
		return "Run the pods behind this port under fewer ServiceAccounts, or use a GatewayClass whose provider takes more names" + orLandingPad + "."
	case ReasonTooManyRoots:
		return "Wait until the mesh has dropped its old roots, or use a GatewayClass whose provider takes more."
	case ReasonALPN:
		return "Speak HTTP/1.1 to this backend, or use a GatewayClass whose provider offers " + string(lbmodel.FeatureBackendTLSALPN) + orLandingPad + "."
	case ReasonTLS13:
		return otherClass(lbmodel.FeatureBackendTLS13)
	case ReasonBelowMinimum:
		return j.minimumFix()
	case ReasonDoubleTLS:
		return "Remove the BackendTLSPolicy, since the mesh's TLS protects the connection, or have the mesh leave this port alone."
	case ReasonUnmeshedProtocol:
		return "Take the backend out of the MeshBinding's labelSelector, or have the operator lower the minimum; UDP is never protected by the mesh."
	default:
		return ""
	}
}

func (j judgement) minimumFix() string {
	switch {
	case j.in.Membership != Meshed:
		return "Make the pods members of a mesh that the gateway has joined, give the backend a BackendTLSPolicy, or have the operator lower the minimum."
	case j.hop.Anonymous:
		return "Give the MeshBinding an identity.issuer other than None."
	default:
		return otherClass(lbmodel.FeatureBackendTLSIdentity)
	}
}

func otherClass(f lbmodel.Feature) string {
	return "Use a GatewayClass whose provider offers " + string(f) + " (" + f.Describe() + ")" + orLandingPad + "."
}
