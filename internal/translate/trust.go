package translate

import (
	"fmt"
	"slices"
	"strings"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// caKey is where a ConfigMap holds its CA certificates.
const caKey = "ca.crt"

// systemTrust is the name of the provider's well-known public roots.
const systemTrust = "System"

// caProblem is what is wrong with one reference to CA certificates. The caller
// knows which reason its condition wants for each.
type caProblem struct {
	kind   caFault
	detail string
}

type caFault uint8

const (
	caBadRef  caFault = iota // missing or malformed
	caBadKind                // not a kind that holds CA certificates
	caDenied                 // no ReferenceGrant
)

// caBundle follows one reference to CA certificates.
func (t *translation) caBundle(from referrer, group, kind string, namespace *gwv1.Namespace, name string) (Key, []lbmodel.Root, *caProblem) {
	key := Key{kind, string(deref(namespace, gwv1.Namespace(from.namespace))), name}
	switch {
	case group == groupCertificates && kind == KindTrustBundle && t.x.options.NoTrustBundles:
		return key, nil, &caProblem{caBadKind, fmt.Sprintf("ClusterTrustBundle %s: this cluster does not serve the kind in %s/v1; name a ConfigMap with the key %s", name, groupCertificates, caKey)}
	case group == groupCertificates && kind == KindTrustBundle:
		key.Namespace = ""
		if namespace != nil {
			return key, nil, &caProblem{caBadRef, fmt.Sprintf("ClusterTrustBundle %s is not namespaced; leave out namespace", name)}
		}
	case group != groupCore || kind != KindConfigMap:
		return key, nil, &caProblem{caBadKind, fmt.Sprintf("%s %s is not supported; name a ConfigMap with the key %s or a ClusterTrustBundle", qualified(group, kind), name, caKey)}
	case !t.x.permitted(from, target{group, kind, key.Namespace, name}):
		return key, nil, &caProblem{caDenied, fmt.Sprintf("ConfigMap %s: no ReferenceGrant in namespace %s lets a %s of namespace %s refer to it", key.path(), key.Namespace, from.kind, from.namespace)}
	}
	text, missing := t.x.caText(key)
	if missing != "" {
		return key, nil, &caProblem{caBadRef, missing}
	}
	roots, err := lbmodel.ParseRoots([]byte(text))
	if err != nil {
		return key, nil, &caProblem{caBadRef, fmt.Sprintf("%s %s: %v", kind, key.path(), err)}
	}
	return key, roots, nil
}

// caText is the PEM text that an object holds, or why there is none.
func (x *Index) caText(key Key) (text, missing string) {
	obj := x.at(key).obj
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		text, ok := o.Data[caKey]
		if !ok {
			return "", fmt.Sprintf("ConfigMap %s has no key %s", key.path(), caKey)
		}
		return text, ""
	case *certv1.ClusterTrustBundle:
		return o.Spec.TrustBundle, ""
	default:
		return "", fmt.Sprintf("%s %s does not exist", key.Kind, key.path())
	}
}

// addTrust joins bundles into one Trust and returns its name. The name follows
// from the bundles that are in it, so that equal names mean equal roots in every
// gateway of the cluster.
func (t *translation) addTrust(source lbmodel.Source, keys []Key, roots []lbmodel.Root) string {
	slices.SortFunc(keys, compareKeys)
	keys = slices.Compact(keys)
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Kind + "/" + k.path()
	}
	trust := lbmodel.Trust{Name: strings.Join(names, "+"), Source: source, Roots: uniqueRoots(roots)}
	if len(keys) == 1 {
		trust.Source = keys[0].source("")
	}
	if len(trust.Name) > maxTrustName {
		trust.Name = "bundle-" + shortHash(trust.Name)
	}
	t.trust[trust.Name] = trust
	return trust.Name
}

// maxTrustName keeps the names of many joined bundles readable in a plan.
const maxTrustName = 128

func (t *translation) addSystemTrust() string {
	t.trust[systemTrust] = lbmodel.Trust{Name: systemTrust, System: true}
	return systemTrust
}

func uniqueRoots(roots []lbmodel.Root) []lbmodel.Root {
	roots = slices.Clone(roots)
	slices.SortFunc(roots, func(a, b lbmodel.Root) int { return strings.Compare(a.SHA256, b.SHA256) })
	return slices.CompactFunc(roots, func(a, b lbmodel.Root) bool { return a.SHA256 == b.SHA256 })
}
