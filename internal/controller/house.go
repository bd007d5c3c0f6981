package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/translate"
)

// houseItem is the work on what gateways have in common: their classes' statuses,
// and the finalizers of classes and parameters that are in use.
var houseItem = item{Key: translate.Key{Kind: translate.KindGatewayClass}}

// house knows who uses which class and which parameters.
type house struct {
	classes    map[string]*gwv1.GatewayClass
	parameters map[types.NamespacedName]*v1alpha1.GatewayParameters
	gateways   map[types.NamespacedName]*gwv1.Gateway
	finalized  map[translate.Key]bool // Gateways and Services with our finalizer
}

func newHouse() house {
	return house{
		classes:    map[string]*gwv1.GatewayClass{},
		parameters: map[types.NamespacedName]*v1alpha1.GatewayParameters{},
		gateways:   map[types.NamespacedName]*gwv1.Gateway{},
		finalized:  map[translate.Key]bool{},
	}
}

// bound are the Gateways and Services with our finalizer.
func (h *house) bound() []translate.Key {
	var out []translate.Key
	for key := range h.finalized {
		out = append(out, key)
	}
	return out
}

// note takes a change, and says whether there is anything to do about it.
func (h *house) note(c translate.Change) (work bool) {
	for _, obj := range c.Put {
		work = h.put(obj) || work
	}
	for _, key := range c.Delete {
		name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
		delete(h.finalized, key)
		switch key.Kind {
		case translate.KindGatewayClass:
			delete(h.classes, key.Name)
		case translate.KindParameters:
			delete(h.parameters, name)
		case translate.KindGateway:
			delete(h.gateways, name)
		default:
			continue
		}
		work = true
	}
	return work
}

func (h *house) put(obj any) bool {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return false
	}
	name := types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetName()}
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		old := h.classes[o.Name]
		h.classes[o.Name] = o
		return old == nil || differs(old, o)
	case *v1alpha1.GatewayParameters:
		old := h.parameters[name]
		h.parameters[name] = o
		return old == nil || differs(old, o)
	case *gwv1.Gateway:
		old := h.gateways[name]
		h.gateways[name] = o
		h.finalize(o, translate.KindGateway)
		return old == nil || old.UID != o.UID || old.Generation != o.Generation
	}
	if key, ok := translate.KeyOf(obj); ok && key.Kind == translate.KindService {
		h.finalize(meta, key.Kind)
	}
	return false
}

func (h *house) finalize(meta metav1.Object, kind string) {
	key := translate.Key{Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName()}
	if slices.Contains(meta.GetFinalizers(), translate.Finalizer) {
		h.finalized[key] = true
	} else {
		delete(h.finalized, key)
	}
}

func differs(a, b metav1.Object) bool {
	return a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration() || !slices.Equal(a.GetFinalizers(), b.GetFinalizers()) ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}

// use is an object with a finalizer to be put right.
type use struct {
	kind string
	obj  metav1.Object
	by   string // those that use it, or a few of them; "" for nobody
}

// users are who uses each of some objects.
type users[K comparable] map[K][]string

func (u users[K]) add(of K, who string) { u[of] = append(u[of], who) }

// few names the first few of those that use an object, and counts the rest. The
// manager's configuration comes first: who looks at objects alone does not find it.
func (u users[K]) few(of K) string {
	const shown = 3
	names := slices.SortedFunc(slices.Values(u[of]), func(a, b string) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	names = slices.Compact(names)
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

const byConfiguration = "the manager's configuration (services.parameters of provider "

func rank(who string) int {
	if strings.HasPrefix(who, byConfiguration) {
		return 1
	}
	return 0
}

// uses are our classes and the parameters that are ours to bind, with whether
// anybody uses them. What only the classes of another manager name is bound, and
// let go, by that one.
func (h *house) uses(o translate.Options) []use {
	theirs := h.theirs(o)
	classes, parameters := users[string]{}, users[types.NamespacedName]{}
	for provider, name := range o.ServiceParameters {
		parameters.add(name, byConfiguration+provider+")")
	}
	for name, class := range h.classes {
		if _, ours := o.Controllers[string(class.Spec.ControllerName)]; !ours {
			continue
		}
		classes[name] = nil
		if ref := class.Spec.ParametersRef; ref != nil && ref.Namespace != nil && class.DeletionTimestamp == nil {
			parameters.add(types.NamespacedName{Namespace: string(*ref.Namespace), Name: ref.Name}, "GatewayClass "+name)
		}
	}
	for name, g := range h.gateways {
		class := string(g.Spec.GatewayClassName)
		if _, ours := classes[class]; !ours {
			continue
		}
		who := "Gateway " + name.String()
		classes.add(class, who)
		if i := g.Spec.Infrastructure; i != nil && i.ParametersRef != nil {
			parameters.add(types.NamespacedName{Namespace: name.Namespace, Name: i.ParametersRef.Name}, who)
		}
		if ref := h.classes[class].Spec.ParametersRef; ref != nil && ref.Namespace != nil {
			parameters.add(types.NamespacedName{Namespace: string(*ref.Namespace), Name: ref.Name}, who)
		}
	}
	var out []use
	for name := range classes {
		out = append(out, use{translate.KindGatewayClass, h.classes[name], classes.few(name)})
	}
	for name, p := range h.parameters {
		if len(parameters[name]) > 0 || !theirs[name] {
			out = append(out, use{translate.KindParameters, p, parameters.few(name)})
		}
	}
	return out
}

// theirs are the parameters that classes of others, and gateways of these, name.
func (h *house) theirs(o translate.Options) map[types.NamespacedName]bool {
	out := map[types.NamespacedName]bool{}
	for _, class := range h.classes {
		if _, ours := o.Controllers[string(class.Spec.ControllerName)]; ours {
			continue
		}
		if ref := class.Spec.ParametersRef; ref != nil && ref.Namespace != nil {
			out[types.NamespacedName{Namespace: string(*ref.Namespace), Name: ref.Name}] = true
		}
	}
	for name, g := range h.gateways {
		class := h.classes[string(g.Spec.GatewayClassName)]
		if class == nil {
			continue
		}
		if _, ours := o.Controllers[string(class.Spec.ControllerName)]; ours {
			continue
		}
		if i := g.Spec.Infrastructure; i != nil && i.ParametersRef != nil {
			out[types.NamespacedName{Namespace: name.Namespace, Name: i.ParametersRef.Name}] = true
		}
	}
	return out
}

// keepHouse puts right what gateways have in common.
func (c *Controller) keepHouse(ctx context.Context) error {
	patches := translate.Status(c.loop.Index(), nil, nil, metav1.NewTime(time.Now()))
	errs := []error{c.write(ctx, patches, func(p translate.Patch) bool { return p.Key.Kind == translate.KindGatewayClass })}
	c.mu.Lock()
	uses := c.house.uses(c.options)
	c.mu.Unlock()
	for _, u := range uses {
		if u.by == "" {
			errs = append(errs, c.unbind(ctx, u.kind, u.obj))
			continue
		}
		_, err := c.bind(ctx, u.kind, u.obj)
		errs = append(errs, err)
		if u.obj.GetDeletionTimestamp() != nil {
			key := translate.Key{Kind: u.kind, Namespace: u.obj.GetNamespace(), Name: u.obj.GetName()}
			c.events.Tell(c.reference(key, u.obj), events.DeletionBlocked, "it stays while it is in use, by "+u.by+"; it goes when nothing names it any more")
		}
	}
	return errors.Join(errs...)
}
