package linkerd

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/workload"
)

// Anchors are the roots that a pod's proxy trusts, as PEM text: those that it was
// injected with, whatever the mesh has published since. It is not ok for a pod
// that is no member, or whose proxy has them from elsewhere.
func Anchors(pod *corev1.Pod) (pem string, ok bool) {
	return workload.Env(pod, workload.Container(pod, proxyContainer), envAnchors)
}

// TrustedByAll says whether every proxy among pods trusts a root: a client
// certificate under it may be shown to all of them. A proxy whose roots cannot be
// read trusts nothing that we know of; pods without one, and those that have
// ended, are not asked. Roots are compared by their DER.
func TrustedByAll(pods []*corev1.Pod, root lbmodel.Root) bool {
	return len(Lacking(pods, root)) == 0
}

// Lacking are the names of those pods whose proxy does not trust a root: they must
// be restarted before a client certificate under it is used.
func Lacking(pods []*corev1.Pod, root lbmodel.Root) []string {
	return where(pods, func(trusted []lbmodel.Root) bool { return !has(trusted, root) })
}

// Stranded are the names of those pods whose proxy trusts none of the roots: while
// there are any, a root that they do trust must not be dropped.
func Stranded(pods []*corev1.Pod, roots []lbmodel.Root) []string {
	return where(pods, func(trusted []lbmodel.Root) bool {
		return !slices.ContainsFunc(roots, func(r lbmodel.Root) bool { return has(trusted, r) })
	})
}

// where are the sorted names of the pods with a proxy whose roots fulfil bad.
func where(pods []*corev1.Pod, bad func([]lbmodel.Root) bool) []string {
	var names []string
	read := map[string][]lbmodel.Root{} // pods of one injection have one text
	for _, pod := range pods {
		if workload.Over(pod) || workload.Container(pod, proxyContainer) == nil {
			continue
		}
		pem, _ := Anchors(pod)
		trusted, ok := read[pem]
		if !ok {
			trusted = parse(pem)
			read[pem] = trusted
		}
		if bad(trusted) {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// parse reads roots; a text that cannot be read has none.
func parse(pem string) []lbmodel.Root {
	roots, err := lbmodel.ParseRoots([]byte(pem))
	if err != nil {
		return nil
	}
	return roots
}

func has(roots []lbmodel.Root, root lbmodel.Root) bool {
	return slices.ContainsFunc(roots, func(r lbmodel.Root) bool { return r.SHA256 == root.SHA256 })
}
