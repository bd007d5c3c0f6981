package cli

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// ownerName is how people name what has a load balancer: namespace/name is a
// Gateway; a Service says that it is one.
func ownerName(o lbmodel.Owner) string { return nameOf(o.Kind, o.Namespace, o.Name) }

func keyName(k translate.Key) string { return nameOf(k.Kind, k.Namespace, k.Name) }

func nameOf(kind, namespace, name string) string {
	if kind == translate.KindService {
		return kind + "/" + namespace + "/" + name
	}
	return namespace + "/" + name
}

// title is an owner at the head of what is told about it.
func title(o lbmodel.Owner) string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// fullName says of a name that it is a Gateway's, when it is.
func fullName(name string) string {
	if strings.HasPrefix(name, translate.KindService+"/") {
		return name
	}
	return translate.KindGateway + " " + name
}

// isName says whether a name from the command line can be one of ownerName's.
func isName(name string) bool {
	return strings.Count(strings.TrimPrefix(name, translate.KindService+"/"), "/") == 1
}

// serviceParameters read provider=namespace/name, as often as it is given.
func serviceParameters(texts []string) (map[string]types.NamespacedName, error) {
	out := map[string]types.NamespacedName{}
	for _, text := range texts {
		provider, object, ok := strings.Cut(text, "=")
		namespace, name, ok2 := strings.Cut(object, "/")
		if !ok || !ok2 || provider == "" || namespace == "" || name == "" {
			return nil, usagef("--service-parameters %q: want PROVIDER=NAMESPACE/NAME", text)
		}
		out[provider] = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return out, nil
}
