package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/api/v1alpha1"
)

// elsewhere are the kinds of the Gateway API's groups that exist, or did in a
// release, and mean nothing here.
var elsewhere = map[groupKind]bool{
	{groupGateway, "BackendLBPolicy"}:        true,
	{groupGatewayX, "XBackendTrafficPolicy"}: true,
	{groupGatewayX, "XListenerSet"}:          true,
	{groupGatewayX, "XMesh"}:                 true,
	{groupGatewayX, "XTelemetryPolicy"}:      true,
}

// unknown tells a kind that is not ours to read from one that is misspelt: what
// is misspelt is there, and must not count as absent.
func (l *loader) unknown(place Place, gvk schema.GroupVersionKind, root *yaml.Node, value map[string]any) {
	at := groupKind{gvk.Group, gvk.Kind}
	if meant := l.misplaced(at); meant != nil {
		p := Problem{Place: place, Field: "apiVersion", Message: fmt.Sprintf("%s has no kind %s: did you mean group %s?", gvk.GroupVersion(), gvk.Kind, quoted(meant.group))}
		l.meant(meant, place, gvk, root, value, p)
		return
	}
	meant, distance := l.nearest(at)
	closed := gvk.Group == groupGateway || gvk.Group == groupGatewayX || gvk.Group == v1alpha1.GroupName
	open := (gvk.Group == "" || gvk.Group == groupDiscovery || gvk.Group == groupCertificates) && distance == 1
	if elsewhere[at] || !closed && !open {
		l.skip(place, gvk)
		return
	}
	p := Problem{Place: place, Field: "kind", Message: fmt.Sprintf("%s has no kind %s", gvk.GroupVersion(), quoted(gvk.Kind))}
	p.Object.Kind = gvk.Kind
	if distance <= max(2, len(gvk.Kind)/3) {
		p.Message += fmt.Sprintf(": did you mean %s?", meant.name)
		l.meant(meant, place, gvk, root, value, p)
		return
	}
	l.bad(p)
}

// meant drops a document that was meant to be of a kind, with what it may concern.
func (l *loader) meant(k *kind, place Place, gvk schema.GroupVersionKind, root *yaml.Node, value map[string]any, p Problem) {
	i := &item{place: place, root: root, value: value, kind: k, version: gvk.Version}
	i.setNamespace(l.DefaultNamespace)
	i.identify()
	i.remains = i.salvage()
	p.Object = i.about
	l.drop(i, []Problem{p})
}

// misplaced is the kind of ours that a document has the name of, in a group that
// is no group of that kind but a slip: a few letters away from the right one, or
// a plain word ("core", "apps") where groups of others have a domain.
func (l *loader) misplaced(at groupKind) *kind {
	for _, known := range l.kindsByName() {
		if known.name != at.name || known.group == at.group || elsewhere[at] {
			continue
		}
		if !strings.Contains(at.group, ".") || edits(known.group, at.group) <= 3 {
			return known
		}
	}
	return nil
}

// nearest is the kind of a group that is spelt most like a name, and how many
// letters are between them. Capitals do not count, but the names differ.
func (l *loader) nearest(at groupKind) (nearest *kind, distance int) {
	distance = len(at.name) + 100
	for _, known := range l.kindsByName() {
		if known.group != at.group {
			continue
		}
		if d := max(edits(strings.ToLower(known.name), strings.ToLower(at.name)), 1); d < distance {
			nearest, distance = known, d
		}
	}
	return nearest, distance
}

func (l *loader) kindsByName() []*kind {
	out := make([]*kind, 0, len(l.kinds))
	for _, k := range l.kinds {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *kind) int { return cmp.Compare(a.name, b.name) })
	return out
}

// edits is Levenshtein's distance: letters to insert, to drop or to change.
func edits(a, b string) int {
	const longest = 64 // no kind is: what is longer is no slip
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
