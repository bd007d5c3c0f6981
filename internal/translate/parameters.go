package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
)

// parameters finds the GatewayParameters of a reference, or says what is wrong
// with it.
func (x *Index) parameters(group, kind, namespace, name string) (*v1alpha1.GatewayParameters, string) {
	if group != groupGatehouse || kind != KindParameters {
		return nil, fmt.Sprintf("%s %s is not supported; name a %s of group %s", kind, name, KindParameters, groupGatehouse)
	}
	p, ok := lookup[*v1alpha1.GatewayParameters](x, KindParameters, namespace, name)
	if !ok {
		return nil, fmt.Sprintf("%s %s/%s does not exist", KindParameters, namespace, name)
	}
	return p, ""
}

// serviceParameters are those that a provider's Services have.
func (x *Index) serviceParameters(provider string) (v1alpha1.GatewayParametersSpec, json.RawMessage, string) {
	name, ok := x.options.ServiceParameters[provider]
	if !ok {
		return defaulted(v1alpha1.GatewayParametersSpec{}), nil, ""
	}
	p, ok := lookup[*v1alpha1.GatewayParameters](x, KindParameters, name.Namespace, name.Name)
	if !ok {
		return defaulted(v1alpha1.GatewayParametersSpec{}), nil,
			fmt.Sprintf("%s %s, which Services of provider %s shall have, does not exist", KindParameters, name, provider)
	}
	settings, problem := section(p.Spec, provider)
	if problem != "" {
		problem = fmt.Sprintf("%s %s: %s", KindParameters, name, problem)
	}
	return defaulted(p.Spec), settings, problem
}

// defaulted fills in what the CRD's schema would.
func defaulted(p v1alpha1.GatewayParametersSpec) v1alpha1.GatewayParametersSpec {
	p.Apply = cmp.Or(p.Apply, v1alpha1.ApplyAuto)
	p.Drift = cmp.Or(p.Drift, v1alpha1.DriftRepair)
	p.Deletion = cmp.Or(p.Deletion, v1alpha1.DeletionDelete)
	p.MinimumBackendTLS = cmp.Or(p.MinimumBackendTLS, v1alpha1.TLSNone)
	p.ForeignEndpoints = cmp.Or(p.ForeignEndpoints, v1alpha1.ForeignDeny)
	p.ServiceTargets = cmp.Or(p.ServiceTargets, v1alpha1.TargetPods)
	return p
}

// section is the provider's own part of the parameters. Which providers exist is
// none of translation's business: whatever field is not common is a section, and
// its name is the provider's.
func section(p v1alpha1.GatewayParametersSpec, provider string) (json.RawMessage, string) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, "parameters cannot be read: " + err.Error()
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, "parameters cannot be read: " + err.Error()
	}
	for _, common := range []string{"apply", "drift", "deletion", "minimumBackendTLS", "foreignEndpoints", "serviceTargets", "held"} {
		delete(fields, common)
	}
	names := slices.Sorted(maps.Keys(fields))
	if len(names) != 1 {
		return nil, fmt.Sprintf("spec must have exactly one provider section, %q for this class; it has %d", provider, len(names))
	}
	if names[0] != provider {
		return nil, fmt.Sprintf("spec.%s is another provider's section; this class is served by %q", names[0], provider)
	}
	return fields[provider], ""
}

// gatewayParameters are the class's parameters made stricter by the Gateway's
// own. Of two values the stricter holds. A value that is looser than the class's
// is a mistake, except the loosest of all: the schema's default says the same as
// silence. The provider's settings are the class's where it has any.
func (x *Index) gatewayParameters(c class, g *gwv1.Gateway) (v1alpha1.GatewayParametersSpec, json.RawMessage, string) {
	i := g.Spec.Infrastructure
	if i == nil || i.ParametersRef == nil {
		return c.params, c.settings, ""
	}
	const field = "spec.infrastructure.parametersRef: "
	ref := i.ParametersRef
	p, problem := x.parameters(string(ref.Group), string(ref.Kind), g.Namespace, ref.Name)
	if problem != "" {
		return c.params, c.settings, field + problem
	}
	settings, problem := section(p.Spec, c.provider)
	if problem != "" {
		return c.params, c.settings, field + problem
	}
	if c.settings != nil {
		if name := differing(settings, c.settings); name != "" {
			return c.params, c.settings, fmt.Sprintf("%s%s/%s: spec.%s.%s is not what the class's GatewayParameters say, which decide it; take it out, or change it there", field, g.Namespace, ref.Name, c.provider, name)
		}
		settings = c.settings
	}
	merged, problem := tighten(c.params, p.Spec)
	if problem != "" {
		return c.params, c.settings, fmt.Sprintf("%s%s/%s: %s", field, g.Namespace, ref.Name, problem)
	}
	return merged, settings, ""
}

// differing is the first field of a Gateway's provider section that the class's
// section does not have alike; "" is that there is none.
func differing(own, class json.RawMessage) string {
	var mine, theirs map[string]any
	if json.Unmarshal(own, &mine) != nil || json.Unmarshal(class, &theirs) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if !reflect.DeepEqual(mine[name], theirs[name]) {
			return name
		}
	}
	return ""
}

// scale is a parameter's values, loosest first.
type scale[T ~string] struct {
	field  string
	values []T
}

// stricter merges one field. An unknown value cannot be ranked and is a mistake.
func (s scale[T]) stricter(floor, own T) (T, string) {
	rank := slices.Index(s.values, own)
	switch {
	case own == "", rank == 0:
		return floor, ""
	case rank < 0:
		return floor, fmt.Sprintf("spec.%s %q is not one of %s", s.field, own, joinWords(s.values))
	case rank < slices.Index(s.values, floor):
		return floor, fmt.Sprintf("spec.%s %s is looser than the class's %s; a Gateway may only be stricter", s.field, own, floor)
	default:
		return own, ""
	}
}

func joinWords[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

func tighten(floor, own v1alpha1.GatewayParametersSpec) (v1alpha1.GatewayParametersSpec, string) {
	out := floor
	var problems [5]string
	out.Apply, problems[0] = scale[v1alpha1.ApplyMode]{"apply",
		[]v1alpha1.ApplyMode{v1alpha1.ApplyAuto, v1alpha1.ApplyApprove, v1alpha1.ApplyPlanOnly}}.stricter(floor.Apply, own.Apply)
	out.Drift, problems[1] = scale[v1alpha1.DriftMode]{"drift",
		[]v1alpha1.DriftMode{v1alpha1.DriftRepair, v1alpha1.DriftReport}}.stricter(floor.Drift, own.Drift)
	out.Deletion, problems[2] = scale[v1alpha1.DeletionPolicy]{"deletion",
		[]v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionRetain, v1alpha1.DeletionProtect}}.stricter(floor.Deletion, own.Deletion)
	out.MinimumBackendTLS, problems[3] = scale[v1alpha1.TLSLevel]{"minimumBackendTLS",
		[]v1alpha1.TLSLevel{v1alpha1.TLSNone, v1alpha1.TLSUnverified, v1alpha1.TLSServerOnly, v1alpha1.TLSClientAndServer}}.stricter(floor.MinimumBackendTLS, own.MinimumBackendTLS)
	problems[4] = tightenReach(&out, own)
	return out, cmp.Or(problems[:]...)
}

// tightenReach guards the two fields that widen what a gateway can touch: these
// have no default to be mistaken for, so saying them at all is meant.
func tightenReach(out *v1alpha1.GatewayParametersSpec, own v1alpha1.GatewayParametersSpec) string {
	if own.ForeignEndpoints == v1alpha1.ForeignAllow && out.ForeignEndpoints != v1alpha1.ForeignAllow {
		return "spec.foreignEndpoints Allow is looser than the class's Deny; set it in the class's GatewayParameters"
	}
	out.ForeignEndpoints = cmp.Or(own.ForeignEndpoints, out.ForeignEndpoints)
	for _, h := range own.Held {
		if !slices.Contains(out.Held, h) {
			return fmt.Sprintf("spec.held names %s %s, which the class does not hold; set it in the class's GatewayParameters", h.Kind, h.ID)
		}
	}
	return ""
}
