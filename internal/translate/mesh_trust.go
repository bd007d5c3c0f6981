package translate

import (
	"fmt"
	"strings"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// boundTrust is what a binding trusts, and why it cannot be read. It is the same
// for all gateways. Unless it has a name, the mesh has no place for roots.
type boundTrust struct {
	trust    lbmodel.Trust
	problems []string
	admits   []lbmodel.Root // see Bound.Admits
}

// boundTrust reads a binding's roots: all that its sources have. When one of them
// has none that can be read, all of it is unknown, for a root that only it has must
// not go.
func (x *Index) boundTrust(b *v1alpha1.MeshBinding, mesh meshsync.Mesh) boundTrust {
	x.meshes.mu.Lock()
	defer x.meshes.mu.Unlock()
	out, ok := x.meshes.trust[b.Name]
	if !ok {
		out = x.readTrust(b, mesh)
		out.admits = x.admitted(mesh)
		x.meshes.trust[b.Name] = out
	}
	return out
}

func (x *Index) readTrust(b *v1alpha1.MeshBinding, mesh meshsync.Mesh) boundTrust {
	key := bindingKey(b)
	out := boundTrust{trust: lbmodel.Trust{
		Name: key.Kind + "/" + key.Name, Source: key.source("trustBundles"), Overlap: lbmodel.Duration(overlap(b, mesh)),
	}}
	var roots []lbmodel.Root
	var absent, stale []string
	for _, at := range rootSources(b, mesh) {
		found, problem := x.rootsAt(at)
		roots = append(roots, found...)
		switch {
		case problem == "":
		case len(found) > 0:
			stale = append(stale, problem)
		case len(b.Spec.TrustBundles) == 0 && !x.published(at):
			absent = append(absent, problem) // of a mesh's own places, those that are there count
		default:
			out.problems = append(out.problems, problem)
		}
	}
	if len(roots) == 0 && len(out.problems) == 0 {
		out.problems = append(absent, "the mesh's roots are nowhere that is known; name them in spec.trustBundles")
	}
	if out.trust.Unknown = len(out.problems) > 0; !out.trust.Unknown {
		out.trust.Roots = uniqueRoots(roots)
	}
	out.problems = append(out.problems, stale...)
	out.trust = x.seenOn(b.Name, out.trust)
	return out
}

// overlap is the binding's, which may only be longer than the mesh's own.
func overlap(b *v1alpha1.MeshBinding, mesh meshsync.Mesh) time.Duration {
	if b.Spec.Overlap == nil {
		return mesh.LeafLife
	}
	own, _ := time.ParseDuration(string(*b.Spec.Overlap)) // one that cannot be read lengthens nothing
	return max(mesh.LeafLife, own)
}

// rootSources are the binding's, or the mesh's own.
func rootSources(b *v1alpha1.MeshBinding, mesh meshsync.Mesh) []meshsync.RootsAt {
	if len(b.Spec.TrustBundles) == 0 {
		return mesh.Roots
	}
	var out []meshsync.RootsAt
	for _, ref := range b.Spec.TrustBundles {
		out = append(out, meshsync.RootsAt{
			Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key,
			URL: ref.URL, Profile: ref.Profile, ID: ref.SPIFFEID, ServerRoots: ref.ServerRoots, ServerName: ref.ServerName, Token: ref.TokenSecret,
		})
	}
	return out
}

// published says whether there is anything at a place where a mesh publishes roots.
func (x *Index) published(at meshsync.RootsAt) bool {
	switch {
	case at.PEM != "" || at.Problem != "" || at.URL != "": // the mesh's configuration says so
		return true
	case at.Outside():
		return x.Has(BundleKey(at))
	case at.Signer != "":
		return x.signerText(at.Signer) != ""
	default:
		return x.Has(Key{at.Kind, at.Namespace, at.Name})
	}
}

// rootsAt reads one source. Beside a problem there are only roots that somebody
// fetched before.
func (x *Index) rootsAt(at meshsync.RootsAt) ([]lbmodel.Root, string) {
	where := at.Kind + " " + strings.TrimPrefix(at.Namespace+"/"+at.Name, "/")
	var text string
	switch {
	case at.Problem != "":
		return nil, at.Problem
	case at.PEM != "":
		text = at.PEM
	case at.Outside():
		return x.bundle(at)
	case at.Kind == KindTrustBundle && x.options.NoTrustBundles:
		return nil, where + ": this cluster does not serve the kind; name a ConfigMap in spec.trustBundles"
	case at.Kind == KindTrustBundle && at.Signer != "":
		where = "ClusterTrustBundles of signer " + at.Signer
		text = x.signerText(at.Signer)
	case at.Kind == KindTrustBundle || at.Kind == KindConfigMap:
		key := caKey
		if at.Key != "" {
			key = at.Key
		}
		var missing string
		if text, missing = x.rootText(Key{at.Kind, at.Namespace, at.Name}, key); missing != "" {
			return nil, missing
		}
	default:
		return nil, where + " holds no roots; ConfigMap and ClusterTrustBundle do"
	}
	if text == "" && at.Signer == "" {
		return nil, where + " is empty: publish the mesh's roots in it"
	}
	if text == "" {
		return nil, where + ": there are none"
	}
	roots, err := lbmodel.ParseRoots([]byte(text))
	if err != nil {
		return nil, fmt.Sprintf("%s: %v", where, err)
	}
	return roots, ""
}

// bundle is what somebody fetched from a place outside of the cluster's objects.
func (x *Index) bundle(at meshsync.RootsAt) ([]lbmodel.Root, string) {
	where := strings.TrimSpace(at.Kind + " " + at.Name)
	b, ok := lookup[*Bundle](x, KindBundle, at.Namespace, BundleKey(at).Name)
	switch {
	case !ok:
		return nil, where + ": nobody fetches these roots, which no object of the cluster has: say where they are in spec.trustBundles, with this kind and a url, or publish them in a ConfigMap and name that"
	case b.Problem != "":
		return b.Roots, where + ": " + b.Problem
	case len(b.Roots) == 0:
		return nil, where + ": there are none"
	default:
		return b.Roots, ""
	}
}

// signerText is all that a signer publishes.
func (x *Index) signerText(signer string) string {
	var all []string
	for _, b := range partsOf[*certv1.ClusterTrustBundle](x.at(Key{Kind: kindBundles}).parts) {
		if b.Spec.SignerName == signer {
			all = append(all, b.Spec.TrustBundle)
		}
	}
	return strings.Join(all, "\n")
}

// rootText is the PEM text at one entry of an object, or why there is none.
func (x *Index) rootText(at Key, entry string) (text, missing string) {
	if c, ok := x.at(at).obj.(*corev1.ConfigMap); ok && entry != caKey {
		text, ok := c.Data[entry]
		if !ok {
			return "", fmt.Sprintf("ConfigMap %s has no key %s", at.path(), entry)
		}
		return text, ""
	}
	return x.caText(at)
}
