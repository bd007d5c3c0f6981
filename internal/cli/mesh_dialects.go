package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// dialects are the meshes there are, by controllerName.
func (a *app) dialects(s source) (map[string]meshsync.Dialect, error) {
	out := map[string]meshsync.Dialect{}
	if a.config.Meshes == nil {
		return out, nil
	}
	domains := map[string]string{}
	for _, text := range s.trustDomains {
		mesh, domain, ok := strings.Cut(text, "=")
		if !ok || mesh == "" || domain == "" {
			return out, usagef("--trust-domain %q: want MESH=DOMAIN", text)
		}
		domains[mesh] = domain
	}
	out = a.config.Meshes(domains)
	for mesh := range domains {
		if out[mesh] == nil {
			return out, usagef("--trust-domain: there is no mesh %q; there is %s", mesh, strings.Join(slices.Sorted(maps.Keys(out)), ", "))
		}
	}
	return out, nil
}

// bindingStatuses are the patches of the MeshBindings. They sum up, so only a pass over
// all gateways has any.
func (e *engine) bindingStatuses(c conclusion, now time.Time) []translate.Patch {
	if len(c.all) < len(e.loop.Gateways()) {
		return nil
	}
	results, keys := map[translate.Key]translate.Result{}, []translate.Key(nil)
	for _, g := range c.all {
		results[g.Key] = g.Result
		keys = append(keys, g.Key)
	}
	return translate.BindingStatus(e.loop.Index(), results, e.loop.OutcomesOf(keys, c.planned, c.pass), metav1.NewTime(now))
}

// unissued are the identities that somebody must issue, and that nobody here can:
// files have no mesh's CA. One that the cloud holds already is kept, and issued are
// those that this command asks for.
func unissued(all []reconcile.Gateway, held func(reconcile.Gateway) map[string]lbmodel.Leaf, issued func(lbmodel.Identity) bool) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range all {
		leaves := held(g)
		for _, id := range g.Served.Identities {
			if _, there := leaves[id.Name]; there || id.Issuer == lbmodel.IssuerSecret || issued(id) {
				continue
			}
			out = append(out, lbmodel.Finding{
				About: id.Source, Parent: lbmodel.Source{Kind: g.Key.Kind, Namespace: g.Key.Namespace, Name: g.Key.Name},
				Condition: "gatehouse.dev/MeshMember", Reason: "IdentityPending", Code: lbmodel.CodeUnresolved,
				Detail: fmt.Sprintf("the gateway needs a certificate that names %s, and files reach no CA that would sign it: "+
					"give the Gateway one in spec.tls.backend.clientCertificateRef, set identity.issuer of the MeshBinding to None where minimumTLS allows that, or let a controller in the cluster serve it, which asks the mesh's CA, cert-manager or a signer; `up` asks a SPIFFE agent and Consul by itself",
					nameIn(id)),
			})
		}
	}
	return out
}

// nobody issues where a command only plans, or applies and ends: nobody would renew.
func nobody(lbmodel.Identity) bool { return false }

// nameIn is whom an identity's certificate names.
func nameIn(id lbmodel.Identity) string {
	if id.SPIFFEID != "" {
		return id.SPIFFEID
	}
	return strings.Join(id.DNSNames, ", ")
}
