package translate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// maxAncestors bounds BackendTLSPolicy.status.ancestors.
const maxAncestors = 16

// policyState is a policy that this gateway is an ancestor of.
type policyState struct {
	key     Key
	obj     *gwv1.BackendTLSPolicy
	tls     *lbmodel.BackendTLS // nil when it cannot be honoured
	problem string
	full    bool // no room in its status for this gateway
}

func sortedStates(m map[Key]policyState) []policyState {
	out := make([]policyState, 0, len(m))
	for _, p := range m {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b policyState) int { return compareKeys(a.key, b.key) })
	return out
}

// policyTLS is the TLS of the hop to a Service's port: nil without a policy. A
// policy that cannot be honoured is a problem and never plain text. We support
// several targetRefs; each is judged on its own.
func (t *translation) policyTLS(policies []*gwv1.BackendTLSPolicy, svc *corev1.Service, port string) (*lbmodel.BackendTLS, string) {
	if len(policies) == 0 {
		return nil, ""
	}
	service := Key{KindService, svc.Namespace, svc.Name}
	slices.SortStableFunc(policies, func(a, b *gwv1.BackendTLSPolicy) int { return compareAge(a, b) })
	whole := t.firstPolicy(policies, service, "")
	for _, p := range svc.Spec.Ports {
		if p.Name != "" && p.Name != port {
			t.firstPolicy(policies, service, p.Name) // for its status
		}
	}
	t.lostTargets(policies, service, svc)
	winner := whole
	if port != "" {
		if own := t.firstPolicy(policies, service, port); own != nil {
			winner = own
		}
	}
	if winner == nil {
		return nil, ""
	}
	if winner.problem != "" {
		return nil, fmt.Sprintf("BackendTLSPolicy %s: %s", winner.key.path(), winner.problem)
	}
	tls := *winner.tls
	tls.Identity = t.clientIdentity
	return &tls, ""
}

// firstPolicy is the policy that governs a section of a Service ("" is all of
// it): the oldest. The others are conflicted.
func (t *translation) firstPolicy(policies []*gwv1.BackendTLSPolicy, service Key, section string) *policyState {
	var first *policyState
	for _, p := range policies {
		if !targets(p, service.Name, section) {
			continue
		}
		if first == nil {
			state := t.policy(p)
			first = &state
			continue
		}
		t.conflictedPolicy(p, first.key, service, section)
	}
	return first
}

// targets says whether a policy names exactly this section.
func targets(p *gwv1.BackendTLSPolicy, service, section string) bool {
	return slices.ContainsFunc(p.Spec.TargetRefs, func(r gwv1.LocalPolicyTargetReferenceWithSectionName) bool {
		return r.Group == groupCore && r.Kind == KindService && string(r.Name) == service && string(deref(r.SectionName, "")) == section
	})
}

// lostTargets reports policies for ports that the Service does not have.
func (t *translation) lostTargets(policies []*gwv1.BackendTLSPolicy, service Key, svc *corev1.Service) {
	for _, p := range policies {
		for _, r := range p.Spec.TargetRefs {
			section := string(deref(r.SectionName, ""))
			known := slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == section })
			if string(r.Name) != service.Name || section == "" || known {
				continue
			}
			t.aboutPolicy(p, condAccepted, string(gwv1.PolicyReasonTargetNotFound),
				fmt.Sprintf("targetRefs: Service %s has no port named %s", service.path(), section))
		}
	}
}

func (t *translation) conflictedPolicy(p *gwv1.BackendTLSPolicy, winner, service Key, section string) {
	t.aboutPolicy(p, condAccepted, string(gwv1.PolicyReasonConflicted),
		fmt.Sprintf("BackendTLSPolicy %s is older or comes first and already governs Service %s%s", winner.path(), service.path(), sectionText(section)))
}

func sectionText(section string) string {
	if section == "" {
		return ""
	}
	return ", port " + section
}

// aboutPolicy reports on a policy, once for each thing to say, and lists the
// gateway as its ancestor.
func (t *translation) aboutPolicy(p *gwv1.BackendTLSPolicy, condition, reason, detail string) {
	key := Key{KindBackendTLSPolicy, p.Namespace, p.Name}
	if _, ok := t.policies[key]; !ok {
		t.policies[key] = policyState{key: key, obj: p, problem: detail}
	}
	f := lbmodel.Finding{About: key.source(""), Parent: t.key.source(""), Condition: condition, Reason: reason, Detail: detail, Code: lbmodel.CodeInvalid}
	if !slices.Contains(t.findings, f) {
		t.find(f)
	}
}

// policy evaluates a policy once.
func (t *translation) policy(p *gwv1.BackendTLSPolicy) policyState {
	key := Key{KindBackendTLSPolicy, p.Namespace, p.Name}
	if s, ok := t.policies[key]; ok && (s.tls != nil || s.problem == "") {
		return s
	}
	s := policyState{key: key, obj: p, full: !t.hasRoom(p, key)}
	v := validation{t: t, from: referrer{KindBackendTLSPolicy, p.Namespace}, source: key.source("")}
	s.tls, s.problem = v.tls(&p.Spec.Validation)
	if s.full {
		s.tls, s.problem = nil, fmt.Sprintf("its status already has %d ancestors, the most there can be; use one policy for fewer gateways", maxAncestors)
	}
	t.policies[key] = s
	return s
}

// hasRoom says whether the policy's status can hold this gateway. The API says
// to treat a policy as one that cannot be implemented otherwise. The gateways
// that have an entry keep it; the others follow by name.
func (t *translation) hasRoom(p *gwv1.BackendTLSPolicy, key Key) bool {
	held, foreign := map[Key]bool{}, 0
	for _, a := range p.Status.Ancestors {
		if t.x.ours(a.ControllerName) {
			held[parentKey(a.AncestorRef, p.Namespace)] = true
		} else {
			foreign++
		}
	}
	users := map[Key]bool{}
	t.x.walk(key, nil, nil, users)
	before := 0
	for u := range users {
		if u != t.key && t.x.isOurs(u) && (held[u] && !held[t.key] || held[u] == held[t.key] && compareKeys(u, t.key) < 0) {
			before++
		}
	}
	return foreign+before < maxAncestors
}

// validation turns BackendTLSPolicyValidation, which XBackends use too, into
// TLS settings.
type validation struct {
	t      *translation
	from   referrer
	source lbmodel.Source
}

func (v validation) report(condition, reason, detail string) {
	f := lbmodel.Finding{About: v.source, Parent: v.t.key.source(""), Condition: condition, Reason: reason, Detail: detail, Code: lbmodel.CodeUnresolved}
	if !slices.Contains(v.t.findings, f) {
		v.t.find(f)
	}
}

// invalid reports Accepted=False/Invalid and is the problem.
func (v validation) invalid(detail string) (*lbmodel.BackendTLS, string) {
	v.report(condAccepted, string(gwv1.PolicyReasonInvalid), detail)
	return nil, detail
}

func (v validation) tls(in *gwv1.BackendTLSPolicyValidation) (*lbmodel.BackendTLS, string) {
	out := &lbmodel.BackendTLS{Source: v.source, SNI: strings.ToLower(string(in.Hostname))}
	if out.SNI == "" {
		return v.invalid("validation.hostname is empty")
	}
	for _, san := range in.SubjectAltNames {
		switch san.Type {
		case gwv1.HostnameSubjectAltNameType:
			out.SANs = append(out.SANs, lbmodel.SAN{Kind: lbmodel.SANDNS, Value: strings.ToLower(string(san.Hostname))})
		case gwv1.URISubjectAltNameType:
			out.SANs = append(out.SANs, lbmodel.SAN{Kind: lbmodel.SANURI, Value: string(san.URI)})
		default:
			return v.invalid(fmt.Sprintf("validation.subjectAltNames: type %q is not one of Hostname, URI", san.Type))
		}
	}
	wellKnown := deref(in.WellKnownCACertificates, "")
	switch {
	case len(in.CACertificateRefs) > 0 && wellKnown != "":
		return v.invalid("validation has both caCertificateRefs and wellKnownCACertificates; take one away")
	case len(in.CACertificateRefs) > 0:
		var problem string
		out.Trust, problem = v.trust(in.CACertificateRefs)
		return out, problem
	case wellKnown == gwv1.WellKnownCACertificatesSystem:
		out.Trust = v.t.addSystemTrust()
		return out, ""
	case wellKnown == "":
		return v.invalid("validation has neither caCertificateRefs nor wellKnownCACertificates")
	default:
		return v.invalid(fmt.Sprintf("validation.wellKnownCACertificates %q is not supported; System is", wellKnown))
	}
}

// trust joins the good references. With none, the policy is not accepted.
func (v validation) trust(refs []gwv1.LocalObjectReference) (string, string) {
	var keys []Key
	var roots []lbmodel.Root
	var problems []string
	for i, ref := range refs {
		key, found, problem := v.t.caBundle(v.from, string(ref.Group), string(ref.Kind), nil, string(ref.Name))
		if problem == nil {
			keys, roots = append(keys, key), append(roots, found...)
			continue
		}
		reason := string(gwv1.BackendTLSPolicyReasonInvalidCACertificateRef)
		if problem.kind == caBadKind {
			reason = string(gwv1.BackendTLSPolicyReasonInvalidKind)
		}
		detail := fmt.Sprintf("validation.caCertificateRefs[%d]: %s", i, problem.detail)
		v.report(condResolvedRefs, reason, detail)
		problems = append(problems, detail)
	}
	if len(keys) == 0 {
		detail := "no CA certificate to verify with: " + strings.Join(problems, "; ")
		v.report(condAccepted, string(gwv1.BackendTLSPolicyReasonNoValidCACertificate), detail)
		return "", detail
	}
	return v.t.addTrust(v.source, keys, roots), ""
}
