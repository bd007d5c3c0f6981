package cli

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/translate"
)

// objectStatus is the status that an object should have, as kubectl would show
// it.
type objectStatus struct {
	Kind     string         `json:"kind"`
	Metadata objectName     `json:"metadata"`
	Status   jsontext.Value `json:"status"`
}

// objectID names the object of a status.
type objectID struct {
	kind string
	name objectName
}

func (s objectStatus) id() objectID { return objectID{s.Kind, s.Metadata} }

type objectName struct {
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name"`
}

// statusesOf are the patches as text. A condition whose status is as it was
// recorded keeps the time of its last transition.
func statusesOf(patches []translate.Patch, recorded []objectStatus) ([]objectStatus, error) {
	was := map[objectID]jsontext.Value{}
	for _, s := range recorded {
		was[s.id()] = s.Status
	}
	out := []objectStatus{}
	for _, p := range patches {
		keepTimes(p.Status, was[objectID{p.Key.Kind, objectName{p.Key.Namespace, p.Key.Name}}])
		text, err := json.Marshal(p.Status, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encoding the status of %s: %w", p.Key, err)
		}
		out = append(out, objectStatus{p.Key.Kind, objectName{p.Key.Namespace, p.Key.Name}, text})
	}
	return out, nil
}

// noteStatuses takes new statuses over old ones, and forgets everything when
// there is no gateway left.
func (r *record) noteStatuses(now []objectStatus) {
	if len(r.Gateways) == 0 {
		r.Statuses = nil
		return
	}
	same := func(a objectStatus) func(objectStatus) bool {
		return func(b objectStatus) bool { return a.id() == b.id() }
	}
	r.Statuses = slices.DeleteFunc(r.Statuses, func(old objectStatus) bool {
		return slices.ContainsFunc(now, same(old)) || !r.has(old)
	})
	r.Statuses = append(r.Statuses, now...)
	slices.SortFunc(r.Statuses, func(a, b objectStatus) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Metadata.Namespace, b.Metadata.Namespace), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
}

// has says whether a status is of something that is there: of what has a load
// balancer, the record knows.
func (r *record) has(s objectStatus) bool {
	if s.Kind != translate.KindGateway && s.Kind != translate.KindService {
		return true
	}
	return slices.ContainsFunc(r.Gateways, func(g recordedGateway) bool {
		return ownerName(g.Owner) == nameOf(s.Kind, s.Metadata.Namespace, s.Metadata.Name)
	})
}

// anyStatus is what the statuses of all our kinds have in common.
type anyStatus struct {
	Conditions []metav1.Condition `json:"conditions"`
	Listeners  []struct {
		Name       string             `json:"name"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"listeners"`
	Parents []struct {
		Ref        parentRef          `json:"parentRef"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"parents"`
	Ancestors []struct {
		Ref        parentRef          `json:"ancestorRef"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"ancestors"`
}

type parentRef struct {
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	SectionName string `json:"sectionName"`
}

// String is where the entry belongs to.
func (r parentRef) String() string {
	out := strings.Trim(r.Namespace+"/"+r.Name, "/")
	if r.SectionName != "" {
		out += "#" + r.SectionName
	}
	return "at " + out
}

// printStatuses writes every condition, false ones with their message.
func (a *app) printStatuses(all []objectStatus) {
	for _, s := range all {
		var status anyStatus
		// Statuses that cannot be read were not written by this version: they are
		// shown as they are by -o yaml.
		if json.Unmarshal(s.Status, &status) != nil {
			continue
		}
		name := strings.TrimPrefix(s.Metadata.Namespace+"/"+s.Metadata.Name, "/")
		a.out.Printf("%s\n", a.out.Paint(term.Bold, s.Kind+" "+name))
		a.printConditions("", status.Conditions)
		for _, l := range status.Listeners {
			a.printConditions("listener "+l.Name, l.Conditions)
		}
		for _, p := range status.Parents {
			a.printConditions(p.Ref.String(), p.Conditions)
		}
		for _, p := range status.Ancestors {
			a.printConditions(p.Ref.String(), p.Conditions)
		}
	}
}

func (a *app) printConditions(where string, conditions []metav1.Condition) {
	if len(conditions) == 0 {
		return
	}
	indent := "  "
	if where != "" {
		a.out.Printf("  %s\n", a.out.Paint(term.Dim, where))
		indent = "    "
	}
	t := term.Table{}
	for _, c := range conditions {
		kind, reason := namesOfCondition(c)
		t.Cells(term.Cell{Text: markOfCondition(c), Paint: paintOfCondition(c)}, term.Cell{Text: kind}, term.Cell{Text: reason, Paint: paintOfCondition(c)}, term.Cell{Text: c.Message, Paint: term.Dim})
	}
	t.Print(a.out, indent)
}

// namesOfCondition are a condition's type and reason, each said once. One that
// reports trouble and has none is its reason alone: "✓ Conflicted" would read as
// a conflict.
func namesOfCondition(c metav1.Condition) (kind, reason string) {
	switch {
	case c.Reason == c.Type:
		return c.Type, ""
	case c.Status == metav1.ConditionFalse && good(c):
		return c.Reason, ""
	default:
		return c.Type, c.Reason
	}
}

// badWhenTrue are conditions that report trouble by being true.
var badWhenTrue = []string{"Conflicted", "PartiallyInvalid", "OverlappingTLSConfig", "InsecureFrontendValidationMode", "gatehouse.dev/OutboundConflict"}

func good(c metav1.Condition) bool {
	return (c.Status == metav1.ConditionTrue) != slices.Contains(badWhenTrue, c.Type)
}

func markOfCondition(c metav1.Condition) string {
	switch {
	case c.Status == metav1.ConditionUnknown:
		return "?"
	case good(c):
		return "✓"
	default:
		return "✗"
	}
}

func paintOfCondition(c metav1.Condition) term.Paint {
	switch markOfCondition(c) {
	case "?":
		return term.Yellow
	case "✓":
		return term.Green
	default:
		return term.Red
	}
}
