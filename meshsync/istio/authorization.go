package istio

import "gatehouse.dev/meshsync"

// Authorization is the AuthorizationPolicy that lets a gateway of an account in. It
// is an offer, for whoever owns the pods, and has no namespace: it goes where they
// are, and a selector may be added. It is needed only where another ALLOW policy
// selects the pods already; where none does, everybody is let in, and the first
// one shuts all others out.
func Authorization(account meshsync.Account, trustDomain string) string {
	return "# Only where an ALLOW policy selects the pods already: without one everybody\n" +
		"# is let in, and this one would shut all others out.\n" +
		documents(map[string]any{
			"apiVersion": "security.istio.io/v1",
			"kind":       "AuthorizationPolicy",
			"metadata":   map[string]any{"name": account.Name},
			"spec": map[string]any{
				"action": "ALLOW",
				"rules": []any{map[string]any{"from": []any{map[string]any{"source": map[string]any{
					"principals": []any{trustDomain + "/ns/" + account.Namespace + "/sa/" + account.Name},
				}}}}},
			},
		})
}
