package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/internal/translate"
)

// object names an object of the folder.
type object struct{ kind, namespace, name string }

func (o object) String() string { return o.kind + " " + o.namespace + "/" + o.name }

// named is an object by how cases write its name: in apps, or "namespace/name".
func named(kind, name string) object {
	if namespace, base, ok := strings.Cut(name, "/"); ok {
		return object{kind, namespace, base}
	}
	if kind == "GatewayClass" || kind == "Namespace" {
		return object{kind, "", name}
	}
	return object{kind, "apps", name}
}

// fields is an object as a document has it.
type fields = map[string]any

// documents splits YAML texts.
func documents(h *harness, texts []string) (out []fields) {
	h.Helper()
	for _, text := range texts {
		for doc := range strings.SplitSeq("\n"+text, "\n---") {
			var f fields
			if err := yaml.Unmarshal([]byte(doc), &f); err != nil {
				h.Fatalf("%v in\n%s", err, doc)
			}
			if len(f) > 0 {
				out = append(out, f)
			}
		}
	}
	return out
}

func objectOf(f fields) object {
	meta, _ := f["metadata"].(fields)
	text := func(f fields, key string) string { s, _ := f[key].(string); return s }
	return object{text(f, "kind"), text(meta, "namespace"), text(meta, "name")}
}

// write puts an object into its file, at once.
func (h *harness) write(id object) {
	h.Helper()
	text, err := yaml.Marshal(h.objects[id])
	if err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(h.file(id), text, 0o600); err != nil {
		h.Fatal(err)
	}
}

// patch writes a status, as the API server's status subresource does.
func (h *harness) patch(p translate.Patch) {
	h.Helper()
	id := object{p.Key.Kind, p.Key.Namespace, p.Key.Name}
	if _, ok := h.objects[id]; !ok {
		h.Errorf("a status for %s, which is not there", id)
		return
	}
	h.objects[id]["status"] = into[fields](h, p.Status)
	h.write(id)
}

// into turns one shape of JSON into another.
func into[T any](h *harness, v any) (out T) {
	h.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		h.Fatal(err)
	}
	return out
}

// status is every list of conditions that any of our kinds has.
type status struct {
	Conditions []metav1.Condition
	Listeners  []struct {
		Name           string
		AttachedRoutes int32
		Conditions     []metav1.Condition
	}
	Parents []struct {
		ParentRef      reference
		ControllerName string
		Conditions     []metav1.Condition
	}
	Ancestors []struct {
		AncestorRef reference
		Conditions  []metav1.Condition
	}
}

type reference struct{ Name, SectionName string }

func (h *harness) status(kind, name string) status {
	h.Helper()
	return into[status](h, h.objects[named(kind, name)]["status"])
}

// parent names no part of the object.
const whole = ""

// condition finds one: of a Gateway as a whole or of its listener by name, of a
// route's parent, of a policy's ancestor.
func (h *harness) condition(kind, name, part, condition string) (metav1.Condition, bool) {
	h.Helper()
	s := h.status(kind, name)
	var list []metav1.Condition
	if part == whole {
		list = s.Conditions
	}
	for _, l := range s.Listeners {
		if l.Name == part {
			list = l.Conditions
		}
	}
	for _, p := range s.Parents {
		if p.ParentRef.Name == part {
			list = p.Conditions
		}
	}
	for _, a := range s.Ancestors {
		if a.AncestorRef.Name == part {
			list = a.Conditions
		}
	}
	for _, c := range list {
		if c.Type == condition {
			return c, true
		}
	}
	return metav1.Condition{}, false
}

// expect wants a condition to be "Status/Reason", and its message to hold words.
func (h *harness) expect(kind, name, part, condition, want string, words ...string) {
	h.Helper()
	c, ok := h.condition(kind, name, part, condition)
	if got := fmt.Sprintf("%s/%s", c.Status, c.Reason); !ok || got != want {
		h.Errorf("%s %s %s: %s is %s (%s), want %s", kind, name, part, condition, got, c.Message, want)
	}
	for _, w := range words {
		if !strings.Contains(c.Message, w) {
			h.Errorf("%s %s %s: the message of %s is %q, want %q in it", kind, name, part, condition, c.Message, w)
		}
	}
}

// attached wants a listener to have so many routes.
func (h *harness) attached(gateway, listener string, want int32) {
	h.Helper()
	for _, l := range h.status("Gateway", gateway).Listeners {
		if l.Name == listener {
			if l.AttachedRoutes != want {
				h.Errorf("listener %s has %d attached routes, want %d", listener, l.AttachedRoutes, want)
			}
			return
		}
	}
	h.Errorf("Gateway %s has no status for listener %s", gateway, listener)
}
