package translate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// listener is one listener of a gateway on its way into the model: its own, or
// an entry of a ListenerSet.
type listener struct {
	owner    Key // the Gateway or ListenerSet
	spec     gwv1.Listener
	hostname string
	kinds    []gwv1.RouteGroupKind // allowed by protocol, provider and spec
	refused  bool                  // not Accepted: nothing of it is in the model
	mixed    bool                  // refused, since its TLS mode cannot stand beside another's on the port
	dropped  bool                  // Accepted, but there is nothing to serve it with
	model    lbmodel.Listener

	entries []*entry // HTTP and gRPC rules, in no order
	sni     []sniEntry
	claims  []claim // TCP and UDP routes that ask for the port
}

// source names the listener for findings: its object and its name there.
func (l *listener) source() lbmodel.Source { return l.owner.source(string(l.spec.Name)) }

// modelName is unique in a gateway: names repeat across ListenerSets.
func (l *listener) modelName() string {
	if l.owner.Kind == KindListenerSet {
		return l.owner.Namespace + "/" + l.owner.Name + "/" + string(l.spec.Name)
	}
	return string(l.spec.Name)
}

func (l *listener) protocol() lbmodel.Protocol { return lbmodel.Protocol(l.spec.Protocol) }

func (l *listener) passthrough() bool {
	return l.spec.TLS != nil && deref(l.spec.TLS.Mode, gwv1.TLSModeTerminate) == gwv1.TLSModePassthrough
}

// serves says whether the listener is in the model.
func (l *listener) serves() bool { return !l.refused && !l.dropped }

// newListener normalises a listener. A hostname means nothing to TCP and UDP.
func newListener(owner Key, spec gwv1.Listener) *listener {
	l := &listener{owner: owner, spec: spec}
	if p := l.protocol(); p != lbmodel.ProtocolTCP && p != lbmodel.ProtocolUDP {
		l.hostname = lbmodel.CanonicalHost(string(deref(spec.Hostname, "")))
	}
	l.model = lbmodel.Listener{
		Name: l.modelName(), Source: l.source(), Port: spec.Port, Protocol: l.protocol(), Hostname: l.hostname,
	}
	return l
}

// collectListeners merges the gateway's listeners with those of its
// ListenerSets in the order of precedence: the Gateway, then sets by age, then
// by namespace and name.
func (t *translation) collectListeners() {
	for _, spec := range t.gateway.Spec.Listeners {
		t.addListener(t.key, spec)
	}
	sets := partsOf[*gwv1.ListenerSet](t.x.at(t.key).parts)
	slices.SortStableFunc(sets, func(a, b *gwv1.ListenerSet) int { return compareAge(a, b) })
	for _, s := range sets {
		key := Key{KindListenerSet, s.Namespace, s.Name}
		state := &setState{key: key, obj: s, allowed: t.allowsSet(s)}
		t.sets = append(t.sets, state)
		if !state.allowed {
			t.find(lbmodel.Finding{About: key.source(""), Condition: condAccepted, Reason: string(gwv1.ListenerSetReasonNotAllowed),
				Detail: fmt.Sprintf("Gateway %s does not allow ListenerSets of namespace %s; see its spec.allowedListeners", t.key.path(), s.Namespace),
				Code:   lbmodel.CodeInvalid})
			continue
		}
		for _, spec := range s.Spec.Listeners {
			if l := t.addListener(key, gwv1.Listener(spec)); l != nil {
				state.listeners = append(state.listeners, l)
			}
		}
	}
}

// addListener adds a listener of an object, unless the object has one of that
// name already: no status could tell the two apart, and the CRD refuses it.
func (t *translation) addListener(owner Key, spec gwv1.Listener) *listener {
	for _, l := range t.listeners {
		if l.owner == owner && l.spec.Name == spec.Name {
			return nil
		}
	}
	l := newListener(owner, spec)
	t.listeners = append(t.listeners, l)
	return l
}

// allowsSet answers Gateway.spec.allowedListeners, which is None by default.
func (t *translation) allowsSet(s *gwv1.ListenerSet) bool {
	a := t.gateway.Spec.AllowedListeners
	if a == nil || a.Namespaces == nil {
		return false
	}
	return t.allowsNamespace(deref(a.Namespaces.From, gwv1.NamespacesFromNone), a.Namespaces.Selector, t.key.Namespace, s.Namespace)
}

// allowsNamespace answers All, Same and Selector; anything else is None.
func (t *translation) allowsNamespace(from gwv1.FromNamespaces, selector *metav1.LabelSelector, same, namespace string) bool {
	switch from {
	case gwv1.NamespacesFromAll:
		return true
	case gwv1.NamespacesFromSame:
		return same == namespace
	case gwv1.NamespacesFromSelector:
		ns := t.x.at(Key{Kind: KindNamespace, Name: namespace}).obj
		return selector != nil && selects(selector, namespaceLabels(namespace, ns))
	default:
		return false
	}
}

// checkListeners decides which listeners are accepted, before any reference is
// followed.
func (t *translation) checkListeners() {
	for _, l := range t.listeners {
		l.kinds = t.kindsOf(l)
		if reason, detail := t.unsupported(l); reason != "" {
			t.refuse(l, reason, detail, lbmodel.CodeUnsupported)
			continue
		}
		t.checkKinds(l)
	}
	t.findConflicts()
}

// refuse takes a listener out of the model with Accepted=False.
func (t *translation) refuse(l *listener, reason, detail string, code lbmodel.Code) {
	l.refused = true
	t.find(lbmodel.Finding{About: l.source(), Condition: condAccepted, Reason: reason, Detail: detail, Code: code})
}

// unsupported says what of a listener this provider, or this version, cannot do.
func (t *translation) unsupported(l *listener) (reason, detail string) {
	feature, known := listenerFeature(l)
	switch {
	case !known:
		return string(gwv1.ListenerReasonUnsupportedProtocol), fmt.Sprintf("protocol %s is not one of HTTP, HTTPS, TLS, TCP, UDP", l.spec.Protocol)
	case !t.class.offers(feature) && l.protocol() == lbmodel.ProtocolTLS:
		return string(gwv1.ListenerReasonUnsupportedValue), fmt.Sprintf("provider %s cannot serve protocol TLS in this mode; it lacks %s", t.class.provider, feature)
	case !t.class.offers(feature):
		return string(gwv1.ListenerReasonUnsupportedProtocol), fmt.Sprintf("provider %s cannot serve protocol %s", t.class.provider, l.spec.Protocol)
	case l.spec.Filters != nil && len(l.spec.Filters.Requests) > 0:
		return string(gwv1.ListenerReasonUnsupportedValue), "filters are not supported on listeners; a listener that should check requests is not served without its checks"
	case needsTLS(l) && l.spec.TLS == nil:
		return string(gwv1.ListenerReasonUnsupportedValue), fmt.Sprintf("protocol %s needs the field tls", l.spec.Protocol)
	case !needsTLS(l) && l.spec.TLS != nil:
		return string(gwv1.ListenerReasonUnsupportedValue), fmt.Sprintf("protocol %s has no TLS; take tls away or use HTTPS or TLS", l.spec.Protocol)
	case badHostname(l.hostname):
		return string(gwv1.ListenerReasonUnsupportedValue), fmt.Sprintf("hostname %q is not a DNS name, with or without *. in front", l.hostname)
	case l.spec.Port < 1 || l.spec.Port > 65535:
		return string(gwv1.ListenerReasonPortUnavailable), fmt.Sprintf("port %d is not between 1 and 65535", l.spec.Port)
	case l.protocol() == lbmodel.ProtocolHTTPS && l.passthrough():
		return string(gwv1.ListenerReasonUnsupportedValue), "protocol HTTPS ends TLS itself; use protocol TLS for mode Passthrough"
	default:
		return "", ""
	}
}

func needsTLS(l *listener) bool {
	return l.protocol() == lbmodel.ProtocolHTTPS || l.protocol() == lbmodel.ProtocolTLS
}

func listenerFeature(l *listener) (lbmodel.Feature, bool) {
	switch l.protocol() {
	case lbmodel.ProtocolHTTP:
		return lbmodel.FeatureHTTP, true
	case lbmodel.ProtocolHTTPS:
		return lbmodel.FeatureHTTPS, true
	case lbmodel.ProtocolTLS:
		if l.passthrough() {
			return lbmodel.FeatureTLSPassthrough, true
		}
		return lbmodel.FeatureTLSTerminate, true
	case lbmodel.ProtocolTCP:
		return lbmodel.FeatureTCP, true
	case lbmodel.ProtocolUDP:
		return lbmodel.FeatureUDP, true
	default:
		return "", false
	}
}

// protocolKinds are the kinds of Route that a listener's protocol and the
// provider can carry.
func (t *translation) protocolKinds(l *listener) []string {
	if f, known := listenerFeature(l); !known || !t.class.offers(f) {
		return nil
	}
	switch l.protocol() {
	case lbmodel.ProtocolTLS:
		return []string{KindTLSRoute}
	case lbmodel.ProtocolTCP:
		return []string{KindTCPRoute}
	case lbmodel.ProtocolUDP:
		return []string{KindUDPRoute}
	}
	if t.class.offers(lbmodel.FeatureGRPC) {
		return []string{KindHTTPRoute, KindGRPCRoute}
	}
	return []string{KindHTTPRoute}
}

// kindsOf are the route kinds that a listener allows and that can be served.
func (t *translation) kindsOf(l *listener) []gwv1.RouteGroupKind {
	can := t.protocolKinds(l)
	group := gwv1.Group(groupGateway)
	var kinds []gwv1.RouteGroupKind
	if a := l.spec.AllowedRoutes; a != nil && len(a.Kinds) > 0 {
		for _, k := range a.Kinds {
			if deref(k.Group, groupGateway) == groupGateway && slices.Contains(can, string(k.Kind)) {
				kinds = append(kinds, gwv1.RouteGroupKind{Group: &group, Kind: k.Kind})
			}
		}
		return kinds
	}
	for _, k := range can {
		kinds = append(kinds, gwv1.RouteGroupKind{Group: &group, Kind: gwv1.Kind(k)})
	}
	return kinds
}

func (l *listener) allowsKind(kind string) bool {
	return slices.ContainsFunc(l.kinds, func(k gwv1.RouteGroupKind) bool { return string(k.Kind) == kind })
}

// checkKinds reports route kinds that a listener names in vain.
func (t *translation) checkKinds(l *listener) {
	a := l.spec.AllowedRoutes
	if a == nil || len(a.Kinds) == len(l.kinds) || len(a.Kinds) == 0 {
		return
	}
	var bad []string
	for _, k := range a.Kinds {
		if deref(k.Group, groupGateway) != groupGateway || !l.allowsKind(string(k.Kind)) {
			bad = append(bad, string(k.Kind))
		}
	}
	t.find(lbmodel.Finding{About: l.source(), Condition: condResolvedRefs, Reason: string(gwv1.ListenerReasonInvalidRouteKinds),
		Detail: fmt.Sprintf("allowedRoutes.kinds: %s cannot be served by a listener of protocol %s; it carries %s",
			strings.Join(bad, ", "), l.spec.Protocol, strings.Join(t.protocolKinds(l), ", ")),
		Code: lbmodel.CodeInvalid})
}
