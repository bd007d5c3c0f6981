package member

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/linkerd"
)

// trusted implements issue.Config.Trusted: proxies learn of a root in a time that is
// known. Linkerd's never do: see backends.
func (m *Members) trusted(issuer string, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time) {
	b, there := m.bound(issuer)
	if there && b.Binding.Spec.ControllerName == linkerd.Controller {
		return true, "", time.Time{}
	}
	if len(b.Admits) > 0 {
		return issue.Aged(m.admitted.Since(issuer, root), b.Mesh.Propagation, now)
	}
	return issue.Aged(m.kept.published.Since(issuer, root), b.Mesh.Propagation, now)
}

// backends implements issue.Config.Backends: Linkerd's proxies keep the roots that
// they were injected with, so each pod behind the gateway is looked at.
func (m *Members) backends(id lbmodel.Identity, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time) {
	b, there := m.bound(id.Issuer)
	if !there || b.Binding.Spec.ControllerName != linkerd.Controller {
		return true, "", time.Time{}
	}
	return issue.Anchored(func(string, lbmodel.Root) ([]string, error) {
		_, member, err := m.gateway(id)
		if err != nil {
			return nil, err
		}
		return linkerd.Lacking(podsOf((*m.loop.Load()).Index(), member), root), nil
	})(id.Issuer, root, now)
}

// podsOf are the pods that a gateway shows its certificate to.
func podsOf(x *translate.Index, member translate.Membership) []*corev1.Pod {
	var out []*corev1.Pod
	for _, group := range member.Groups {
		if group.Verdict.Path == meshsync.Blocked || group.Verdict.Membership == meshsync.NotMeshed {
			continue
		}
		for _, name := range group.Group.Pods {
			key := translate.Key{Kind: translate.KindPod, Namespace: group.Service.Namespace, Name: name}
			if pod, ok := x.Object(key).(*corev1.Pod); ok {
				out = append(out, pod)
			}
		}
	}
	return out
}
