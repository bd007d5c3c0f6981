package manifest

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// assembly is a Snapshot being put together, with the key bytes that may not
// enter it.
type assembly struct {
	snapshot translate.Snapshot
	pairs    map[types.NamespacedName]tls.Certificate
	item     *item // whose object is being added
}

// identity is what makes two documents the same object.
type identity struct {
	kind            *kind
	namespace, name string
}

func (i *item) identity() identity {
	return identity{kind: i.kind, namespace: i.object.GetNamespace(), name: i.object.GetName()}
}

// assemble puts every good object into the Snapshot, sorted by namespace and
// name so that the order of documents cannot matter.
func (l *loader) assemble() {
	good := l.unique(l.sortOut())
	slices.SortFunc(good, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.object.GetNamespace(), b.object.GetNamespace()), cmp.Compare(a.object.GetName(), b.object.GetName()))
	})
	a := &assembly{snapshot: l.loaded.Snapshot, pairs: map[types.NamespacedName]tls.Certificate{}}
	for _, a.item = range good {
		if a.item.kind.add != nil {
			a.item.kind.add(a, a.item.object)
		} else {
			gvk := schema.GroupVersionKind{Group: a.item.kind.group, Version: a.item.version, Kind: a.item.kind.name}
			l.skip(a.item.place, gvk).Checked = true
		}
	}
	a.completeNamespaces(good)
	l.loaded.Snapshot = a.snapshot
	l.loaded.Keys = newKeys(a.pairs)
}

// sortOut separates the good from the bad.
func (l *loader) sortOut() []*item {
	var good []*item
	warned := map[string]bool{}
	for _, i := range l.items {
		if i.object != nil {
			good = append(good, i)
		} else {
			l.drop(i, i.problems)
		}
		for _, w := range i.notes {
			if w.Field == "apiVersion" && warned[w.Message] {
				continue // once for a kind, not once for an object
			}
			warned[w.Message] = true
			l.loaded.Warnings = append(l.loaded.Warnings, w)
		}
	}
	return good
}

func (l *loader) drop(i *item, problems []Problem) {
	for _, p := range problems {
		l.note(p)
	}
	l.loaded.Bad = append(l.loaded.Bad, i.about)
	if i.remains != nil {
		l.loaded.Remains = append(l.loaded.Remains, i.remains)
	}
	if i.remains == nil || !placed(i.remains, problems) {
		l.stray(i.place)
	}
}

// unique settles objects that several documents describe. Equal ones are one;
// of different ones none is taken, for which would win must not hang on the order
// of files.
func (l *loader) unique(items []*item) []*item {
	groups := map[identity][]*item{}
	for _, i := range items {
		groups[i.identity()] = append(groups[i.identity()], i)
	}
	return slices.DeleteFunc(items, func(i *item) bool {
		group := groups[i.identity()]
		if allEqual(group) {
			return i != group[0]
		}
		other := group[0]
		if other == i {
			other = group[1]
		}
		at := i.place
		at.Line = i.nameLine
		i.remains = i.readable()
		l.drop(i, []Problem{{
			Place: at, Object: i.about, Field: "metadata.name",
			Message: fmt.Sprintf("is described differently at %s: keep one of them", other.place),
		}})
		return true
	})
}

func allEqual(group []*item) bool {
	for _, i := range group[1:] {
		if !equality.Semantic.DeepEqual(group[0].object, i.object) {
			return false
		}
	}
	return true
}

// completeNamespaces adds the namespaces that objects are in and no document
// describes, with the one label that every namespace has.
func (a *assembly) completeNamespaces(items []*item) {
	missing := map[string]bool{}
	for _, i := range items {
		if !i.kind.cluster {
			missing[i.object.GetNamespace()] = true
		}
	}
	for _, n := range a.snapshot.Namespaces {
		delete(missing, n.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		defaultNamespace(n)
		a.snapshot.Namespaces = append(a.snapshot.Namespaces, n)
	}
	slices.SortFunc(a.snapshot.Namespaces, func(x, y *corev1.Namespace) int { return cmp.Compare(x.Name, y.Name) })
}

// addSecret adds what is public to the Snapshot, and keeps the pair aside.
func addSecret(a *assembly, o metav1.Object) {
	split := a.item.secret
	a.snapshot.Secrets = append(a.snapshot.Secrets, split.Public)
	if split.Pair != nil {
		a.pairs[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = *split.Pair
	}
}

// finish sorts what is told and applies the strictness.
func (l *loader) finish() (*Loaded, error) {
	out := l.loaded
	sortProblems(out.Problems)
	sortProblems(out.Warnings)
	for _, k := range l.skipped {
		out.Skipped = append(out.Skipped, *k)
	}
	slices.SortFunc(out.Skipped, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortFunc(out.Bad, func(a, b lbmodel.Source) int { return cmp.Compare(a.String(), b.String()) })
	out.Bad = slices.Compact(out.Bad)
	if n := len(out.Problems); n > 0 && l.Strict == RefuseAll {
		return out, fmt.Errorf("%w: %d of what was read cannot stand, first %s", ErrRefused, n, out.Problems[0])
	}
	return out, nil
}
