package manifest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"gatehouse.dev/lbmodel"
)

// item is one object as it stands in a file, and what became of it.
type item struct {
	place   Place
	root    *yaml.Node
	value   map[string]any
	kind    *kind
	version string

	about    lbmodel.Source
	nameLine int

	object   metav1.Object // nil when there are problems
	faults   []fault
	warnings []fault
	problems []Problem  // the faults, placed
	notes    []Problem  // the warnings, placed
	secret   *splitPair // what a Secret was split into
	remains  any        // of a bad object: what could be read of it
}

// identify names the object as far as the text does.
func (i *item) identify() {
	meta, _ := i.value["metadata"].(map[string]any)
	i.about.Kind = i.kind.name
	i.about.Name, _ = meta["name"].(string)
	if !i.kind.cluster {
		i.about.Namespace, _ = meta["namespace"].(string)
	}
	at, _ := locate(i.root, "metadata.name")
	i.nameLine = at.Line
}

// settle places what there is to tell and lets go of the text, which takes far
// more memory than the object.
func (i *item) settle() {
	if i.object == nil {
		i.remains = i.salvage()
	}
	i.problems, i.notes = i.placed(i.faults), i.placed(i.warnings)
	i.root, i.value, i.faults, i.warnings = nil, nil, nil, nil
}

// maxFaults is how many faults of one object are told: the first make the point,
// and finding the lines of a million would take hours.
const maxFaults = 25

// placed gives each fault its line.
func (i *item) placed(faults []fault) []Problem {
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.field, b.field) })
	var out []Problem
	for n, f := range faults {
		if n == maxFaults {
			more := fmt.Sprintf("and %d more faults", len(faults)-n)
			return append(out, Problem{Place: i.place, Object: i.about, Message: more})
		}
		out = append(out, i.problem(f))
	}
	return out
}

func (i *item) problem(f fault) Problem {
	p := Problem{Place: i.place, Object: i.about, Field: f.field, Message: f.message}
	if f.field != "" {
		at, value := locate(i.root, f.field)
		p.Line = at.Line
		if strings.HasPrefix(f.message, "must be text") || strings.HasPrefix(f.message, "must be of type string") {
			p.Message += guessed(value)
		}
	}
	if i.kind.name == secretKind {
		p.Field = secretField(p.Field)
	}
	return p
}

// setNamespace does what a client does before it sends an object.
func (i *item) setNamespace(fallback string) {
	meta, ok := i.value["metadata"].(map[string]any)
	switch namespace := meta["namespace"]; {
	case !ok:
	case i.kind.cluster:
		delete(meta, "namespace")
	case namespace == nil || namespace == "":
		meta["namespace"] = fallback
	}
}

// decode makes the object, or says what is wrong with it.
func (i *item) decode(ctx context.Context, schemas *Schemas, now time.Time) {
	i.guarded(ctx, schemas, now)
	i.settle()
}

func (i *item) guarded(ctx context.Context, schemas *Schemas, now time.Time) {
	// The API machinery reads hostile text here. Should it fall, this object is
	// bad and the others are not. What it says may hold content, so it is not told.
	defer func() {
		if r := recover(); r != nil {
			i.object, i.faults = nil, []fault{{message: "cannot be read: the checks gave up on it"}}
		}
	}()
	if _, ok := i.value["metadata"].(map[string]any); !ok {
		i.faults = []fault{{field: "metadata", message: "must be a mapping with a name"}}
		return
	}
	var object metav1.Object
	switch {
	case i.kind.raw:
		object, i.faults = i.asItStands()
	case i.kind.file != "":
		object, i.faults = i.custom(ctx, schemas)
	default:
		object, i.faults = i.builtin()
	}
	if len(i.faults) > 0 {
		return
	}
	i.object = object
	if secret, ok := object.(*corev1.Secret); ok {
		i.secret = splitSecret(secret, now)
		i.warnings = i.secret.notes
	}
}

// asItStands takes an object of a mesh's own kind.
func (i *item) asItStands() (metav1.Object, []fault) {
	object := &unstructured.Unstructured{}
	text, err := json.Marshal(i.value)
	if err == nil {
		err = object.UnmarshalJSON(text)
	}
	if err != nil {
		return nil, []fault{{message: mismatch(err)}}
	}
	return object, checkMeta(object, i.kind)
}

func (i *item) builtin() (metav1.Object, []fault) {
	if !slices.Contains(i.kind.versions, i.version) {
		return nil, []fault{notServed(i.kind, i.version, i.kind.versions)}
	}
	object, faults, ok := strictInto(i.value, i.kind.make, "")
	if !ok {
		return nil, faults
	}
	if i.kind.defaults != nil {
		i.kind.defaults(object)
	}
	faults = append(faults, checkMeta(object, i.kind)...)
	if i.kind.check != nil {
		faults = append(faults, faultsOf(i.kind.check(object))...)
	}
	return object, faults
}

// custom does what the API server does with a custom resource: decode strictly
// by the version that the file states, default, validate, convert to the version
// we use (no Gateway API kind has a conversion webhook, so only apiVersion
// changes) and default by that one. Unlike a server it goes on after an unknown
// field, so that all faults are told at once.
func (i *item) custom(ctx context.Context, schemas *Schemas) (metav1.Object, []fault) {
	d, err := schemas.definition(i.kind.file)
	if err != nil {
		return nil, []fault{{message: err.Error()}}
	}
	v, ok := d.versions[i.version]
	if !ok {
		return nil, []fault{notServed(i.kind, i.version, d.served)}
	}
	if v.deprecated != "" {
		i.warnings = []fault{{field: "apiVersion", message: v.deprecated}}
	}
	faults, ok := i.normalise(v)
	if !ok {
		return nil, faults
	}
	v.setDefaults(i.value)
	errs, err := v.validate(ctx, i.value)
	if err != nil {
		return nil, []fault{{message: err.Error()}}
	}
	if faults = append(faults, faultsOf(errs)...); len(faults) > 0 {
		return nil, faults
	}
	if hub := d.versions[i.kind.hub]; hub != v {
		i.value["apiVersion"] = i.kind.group + "/" + i.kind.hub
		hub.prune(i.value)
		hub.setDefaults(i.value)
	}
	return i.typed(i.value)
}

// normalise decodes the metadata strictly and drops nothing in silence: what the
// schema does not know is a fault. It is not ok when there is no use in going on.
func (i *item) normalise(v *version) (faults []fault, ok bool) {
	fresh := func() *metav1.ObjectMeta { return new(metav1.ObjectMeta) }
	meta, faults, ok := strictInto(i.value["metadata"], fresh, "metadata")
	for _, path := range v.prune(i.value) {
		faults = append(faults, unknownField(strings.TrimPrefix(path, ".")))
	}
	if !ok {
		return faults, false
	}
	faults = append(faults, checkMeta(meta, i.kind)...)
	if meta.Generation == 0 {
		meta.Generation = 1 // as the API server counts a new object
	}
	if err := objectmeta.SetObjectMeta(i.value, meta); err != nil {
		return append(faults, fault{field: "metadata", message: err.Error()}), false
	}
	return faults, true
}

func (i *item) typed(obj map[string]any) (metav1.Object, []fault) {
	object := i.kind.make()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, object); err != nil {
		return nil, []fault{{message: "cannot be read: " + err.Error()}}
	}
	return object, nil
}

func notServed(k *kind, version string, served []string) fault {
	return fault{field: "apiVersion", message: fmt.Sprintf("%s has no version %s: use %s", k.name, quoted(version), strings.Join(served, ", "))}
}

func checkMeta(object metav1.Object, k *kind) []fault {
	if object.GetName() == "" {
		return []fault{{field: "metadata.name", message: "is required: files cannot ask for a generated name"}}
	}
	return faultsOf(apivalidation.ValidateObjectMetaAccessor(object, !k.cluster, k.names, field.NewPath("metadata")))
}

// children are the objects of a list kind, or nil: v1 List and the typed ones
// (ServiceList), whose items need not repeat what they are.
func children(root *yaml.Node, value map[string]any) ([]*yaml.Node, []map[string]any, error) {
	kind, _ := value["kind"].(string)
	list, isList := strings.CutSuffix(kind, "List")
	items, found := value["items"]
	if !isList || !found {
		return nil, nil, nil
	}
	_, node := entry(target(root), "items")
	all, ok := items.([]any)
	if !ok && items != nil || node == nil {
		return nil, nil, syntaxErrorf(root.Line, "items of a %s must be a list", kind)
	}
	nodes := target(node).Content
	values := make([]map[string]any, len(all))
	for i, v := range all {
		if values[i], ok = v.(map[string]any); !ok {
			return nil, nil, syntaxErrorf(nodes[i].Line, "items[%d] of a %s is no object", i, kind)
		}
		if list != "" {
			inherit(values[i], "kind", list)
			inherit(values[i], "apiVersion", value["apiVersion"])
		}
	}
	return nodes, values, nil
}

func inherit(value map[string]any, key string, from any) {
	if _, ok := value[key]; !ok {
		value[key] = from
	}
}
