package translate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
)

// rangesField is where a Service's source ranges are written.
func rangesField(svc *corev1.Service) string {
	if len(svc.Spec.LoadBalancerSourceRanges) > 0 {
		return "spec.loadBalancerSourceRanges"
	}
	return "the annotation " + corev1.AnnotationLoadBalancerSourceRangesKey
}

// sourceRanges are the client addresses that a Service serves, canonical: the
// field's, or without it the annotation's. Neither is everybody. An entry that
// cannot be read is left out and told, and never stands for everybody: ok is false
// when nothing is left that could let anybody in.
func (t *balancing) sourceRanges() (ranges []string, ok bool) {
	entries := t.svc.Spec.LoadBalancerSourceRanges
	if text := strings.TrimSpace(t.svc.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]); len(entries) == 0 && text != "" {
		entries = strings.Split(text, ",")
	}
	if len(entries) == 0 {
		return nil, true
	}
	var good []netip.Prefix
	for _, entry := range entries {
		p, err := lbmodel.ParseRange(entry)
		if err != nil {
			t.badRange(fmt.Sprintf("%s: %q is not a range such as 10.0.0.0/8: it lets nobody in", rangesField(t.svc), entry))
			continue
		}
		good = append(good, p)
	}
	usable := good
	if families := t.svc.Spec.IPFamilies; len(families) > 0 {
		usable = slices.DeleteFunc(slices.Clone(good), func(p netip.Prefix) bool {
			return !slices.Contains(families, corev1.IPFamily(lbmodel.FamilyOf(p.Addr())))
		})
		if len(usable) < len(good) {
			t.badRange(fmt.Sprintf("%s: some ranges are not of family %s, which is all that the Service has: they let nobody in", rangesField(t.svc), joinWords(families)))
		}
	}
	return lbmodel.MergeRanges(usable), len(usable) > 0
}

func (t *balancing) badRange(detail string) {
	t.find(lbmodel.Finding{About: t.key.source(""), Condition: condPartial, Reason: reasonInvalidSourceRange, Detail: detail, Code: lbmodel.CodeInvalid})
}
