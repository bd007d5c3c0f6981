package readiness

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Services are the Services that gates name, as far as there are such, by
// namespace and name.
type Services map[types.NamespacedName]*Service

// Service is one of them, and who sends to it.
type Service struct {
	UID  types.UID
	Uses []Use
}

// Use is a pool of the Service in one gateway.
type Use struct {
	Gateway translate.Key
	// Wanted are the endpoints that translation found, Taken those of them that the
	// provider takes.
	Wanted, Taken []lbmodel.Endpoint
	Health        providers.PoolHealth
}

// NamesOf are the Services whose gates a pod has.
func NamesOf(pod *corev1.Pod) []types.NamespacedName {
	var out []types.NamespacedName
	for _, g := range pod.Spec.ReadinessGates {
		if name, ours := strings.CutPrefix(string(g.ConditionType), translate.GatePrefix); ours && name != "" {
			out = append(out, types.NamespacedName{Namespace: pod.Namespace, Name: name})
		}
	}
	return out
}

// Add tells what a gateway sends to those of the Services that it has pools of.
// health is its account's ([providers.Account.Health]). A gateway that is going, or
// that nothing is planned for, sends to nobody as far as a rollout is concerned.
func (s Services) Add(g reconcile.Gateway, health func(providers.PoolChange) providers.PoolHealth) {
	if !g.Planned() || g.Result.Deleting {
		return
	}
	gw := g.Result.Gateway
	for _, wanted := range gw.Pools {
		service := s[types.NamespacedName{Namespace: wanted.Source.Namespace, Name: wanted.Source.Name}]
		i := slices.IndexFunc(g.Served.Pools, func(p lbmodel.Pool) bool { return p.Name == wanted.Name })
		if service == nil || wanted.Source.Kind != translate.KindService || i < 0 {
			continue
		}
		taken := g.Served.Pools[i]
		service.Uses = append(service.Uses, Use{
			Gateway: g.Key, Wanted: wanted.Endpoints, Taken: taken.Endpoints,
			Health: health(providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: taken}),
		})
	}
}

// counts says whether the gateway's load balancer sends to the Service.
func (u Use) counts() bool { return u.Health.There }

// target finds a pod's endpoint that is sent to.
func target(of []lbmodel.Endpoint, pod *corev1.Pod) (lbmodel.Target, bool) {
	for _, e := range of {
		if e.Usable() && e.Pod.Name == pod.Name && e.Pod.Namespace == pod.Namespace && hasIP(pod, e.Address) {
			return e.Target(), true
		}
	}
	return "", false
}

func hasIP(pod *corev1.Pod, address string) bool {
	return pod.Status.PodIP == address ||
		slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address })
}

// lookedAfter says whether a look at the cloud began after a time that was written
// down in whole seconds.
func lookedAfter(at, written time.Time) bool { return !at.Before(written.Add(time.Second)) }
