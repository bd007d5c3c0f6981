package istio

import (
	"encoding/json/v2"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
)

// Revision is what one of several revisions of istiod has for its pods.
type Revision struct {
	Name    string   // "default" is the one without a name
	Domains []string // of its pods' identities, its own first
	Settings
}

// unnamed is the revision that has no name.
const unnamed = "default"

// installed is a revision as its ConfigMap has it.
type installed struct {
	name   string // "" is the unnamed one
	config meshConfig
	there  bool
	err    error
}

// revisions are those that have a mesh configuration in the namespace of the control
// plane, the unnamed one first; where there is none, an installation with defaults.
func (d Dialect) revisions(w meshsync.World) []installed {
	if named(d.Revision) != "" {
		return []installed{readRevision(named(d.Revision), w.ConfigMap(d.namespace(), configName(d.Revision)))}
	}
	var out []installed
	plain := w.ConfigMap(d.namespace(), configName(""))
	for _, cm := range w.ConfigMaps(d.namespace()) {
		name, is := strings.CutPrefix(cm.Name, configName("")+"-")
		if _, has := cm.Data[configKey]; is && has && d.Revision == "" {
			out = append(out, readRevision(name, cm))
		}
	}
	if plain != nil || len(out) == 0 {
		out = slices.Insert(out, 0, readRevision("", plain))
	}
	return out
}

func readRevision(name string, cm *corev1.ConfigMap) installed {
	out := installed{name: name, there: cm != nil}
	out.config, out.err = readConfig(cm)
	return out
}

// named is a revision's name; "" is the unnamed one.
func named(revision string) string {
	if revision == unnamed {
		return ""
	}
	return revision
}

// called is a revision's name for people.
func called(revision string) string {
	if revision == "" {
		return unnamed
	}
	return revision
}

// configName is the ConfigMap of a revision's mesh configuration.
func configName(revision string) string {
	if named(revision) == "" {
		return "istio"
	}
	return "istio-" + revision
}

// differ says whether revisions are not one mesh.
func differ(all []Revision) bool {
	return slices.ContainsFunc(all, func(r Revision) bool {
		a, b := r, all[0]
		a.Name, b.Name = "", ""
		return !reflect.DeepEqual(a, b)
	})
}

// revisionOf is the revision to which a pod belongs, and what says so. Injection writes
// down who it was; labels may also name a tag.
func revisionOf(w meshsync.World, pod *corev1.Pod) (name, by string) {
	var status struct {
		Revision string `json:"revision"`
	}
	if err := json.Unmarshal([]byte(pod.Annotations[statusAnnotation]), &status); err == nil && status.Revision != "" {
		return status.Revision, "annotation " + statusAnnotation
	}
	if rev := pod.Labels[revisionLabel]; rev != "" {
		return rev, "label " + revisionLabel + " of the pod"
	}
	if ns := w.Namespace(pod.Namespace); ns != nil && ns.Labels[namespaceLabel] == "" && ns.Labels[revisionLabel] != "" {
		return ns.Labels[revisionLabel], "label " + revisionLabel + " of namespace " + ns.Name
	}
	return unnamed, "nothing names another"
}

// seenBy is the mesh as the revision of a pod has it. A problem is why nothing can be
// said of the pod.
func (d Dialect) seenBy(w meshsync.World, m meshsync.Mesh, s Settings, pod *corev1.Pod) (meshsync.Mesh, Settings, string) {
	if len(s.Revisions) == 0 {
		return m, s, s.Problem
	}
	name, by := revisionOf(w, pod)
	i := slices.IndexFunc(s.Revisions, func(r Revision) bool { return r.Name == name })
	switch {
	case i < 0 && differ(s.Revisions):
		return m, s, fmt.Sprintf("revision %s (%s) has no ConfigMap %s in namespace %s, and %s differ: if it is a tag, label the namespace with the revision that it stands for and restart the pods",
			name, by, configName(name), d.namespace(), listOf(s.Revisions))
	case i < 0:
		return m, s, s.Problem
	}
	r := s.Revisions[i]
	problem := r.Problem
	if problem == "" && m.TrustDomain != "" && !slices.Contains(r.Clients, m.TrustDomain) {
		problem = fmt.Sprintf("sidecars of revision %s let in clients of trust domain %s, and gateways are of %s (revision %s): add %s to trustDomainAliases in ConfigMap %s/%s",
			r.Name, strings.Join(r.Clients, ", "), m.TrustDomain, called(m.Revision), m.TrustDomain, d.namespace(), configName(r.Name))
	}
	m.TrustDomains = r.Domains
	if m.TrustDomain = ""; len(r.Domains) > 0 {
		m.TrustDomain = r.Domains[0]
	}
	return m, r.Settings, problem
}

// sayRevisions says what several revisions mean for a gateway.
func (d Dialect) sayRevisions(m meshsync.Mesh, all []Revision) []string {
	if len(all) < 2 {
		return nil
	}
	server := "istiod"
	if m.Revision != "" {
		server += "-" + m.Revision
	}
	from := "gateways get their certificates from " + server + "." + d.namespace() + ".svc"
	const unless = " unless identity.address says otherwise."
	if !differ(all) {
		return []string{"Revisions " + listOf(all) + " are one mesh: " + from + unless}
	}
	var each []string
	for _, r := range all {
		what := fmt.Sprintf("trust domain %s, root namespace %s", strings.Join(r.Domains, ", "), r.Root)
		if r.Problem != "" {
			what = r.Problem
		}
		each = append(each, r.Name+" ("+what+")")
	}
	return []string{"Revisions differ, " + and(each) + ": pods count by the one that injected them, and " + from + ", in trust domain " + m.TrustDomain + "," + unless}
}

func listOf(all []Revision) string {
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
	}
	return and(names)
}

func and(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
