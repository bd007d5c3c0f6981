package lbmodel

import "strings"

// Owner is the Kubernetes object that a gateway's resources belong to. Owner and
// ID are the only names ever written into a cloud's tags, labels and names.
type Owner struct {
	Cluster   string `json:"cluster,omitzero"`
	Kind      string `json:"kind,omitzero"` // Gateway, Service
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name,omitzero"`
	UID       string `json:"uid,omitzero"` // a re-created object is another owner
}

// String is the owner as a person would write it: cluster/Kind/namespace/name.
func (o Owner) String() string {
	return join(o.Cluster, o.Kind, o.Namespace, o.Name)
}

// Source says where a value came from: an object and the part of it. Every
// listener, rule, pool and trust has one, so that every refusal can name it.
type Source struct {
	Kind      string `json:"kind,omitzero"`
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name,omitzero"`
	Section   string `json:"section,omitzero"` // a listener's or rule's name, or a field path such as rules[2]
}

// String is Kind/namespace/name#section without its empty parts.
func (s Source) String() string {
	out := join(s.Kind, s.Namespace, s.Name)
	if s.Section != "" {
		out += "#" + s.Section
	}
	return out
}

// Object is the source without its section.
func (s Source) Object() Source {
	s.Section = ""
	return s
}

func join(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "/")
}
