package aws

import (
	"strings"

	"gatehouse.dev/lbmodel"
)

// The kinds of resources.
const (
	KindLoadBalancer        = "LoadBalancer"
	KindAddress             = "Address"
	KindListener            = "Listener"
	KindListenerCertificate = "ListenerCertificate"
	KindRule                = "Rule"
	KindTargetGroup         = "TargetGroup"
	KindTargets             = "Targets"
	KindSecurityGroup       = "SecurityGroup"
	KindSecurityGroupRule   = "SecurityGroupRule"
	KindCertificate         = "Certificate"
	KindTrustBundle         = "TrustBundle"
	KindTrustStore          = "TrustStore"
)

// Ref names another resource in a Spec: the text of its ID.
type Ref string

func refTo(id lbmodel.ID) Ref { return Ref(id.String()) }

// id is what the reference names. Kinds and regions have no dots; names may.
func (r Ref) id() lbmodel.ID {
	parts := strings.SplitN(string(r), ".", 3)
	if len(parts) != 3 {
		return lbmodel.ID{}
	}
	return lbmodel.ID{Kind: parts[0], Location: parts[1], Name: parts[2]}
}

// needs are the IDs of the references that are set, each once.
func needs(refs ...Ref) []lbmodel.ID {
	var out []lbmodel.ID
	seen := map[Ref]bool{"": true}
	for _, r := range refs {
		if !seen[r] {
			seen[r] = true
			out = append(out, r.id())
		}
	}
	return out
}

// sources drops the empty ones and the repeated ones.
func sources(all ...lbmodel.Source) []lbmodel.Source {
	var out []lbmodel.Source
	seen := map[lbmodel.Source]bool{{}: true}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
