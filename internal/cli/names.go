package cli

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/cli/cluster"
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

// servicePrefix is before the name of a Service, and gatewayPrefix may be before that
// of a Gateway.
const (
	servicePrefix = "service/"
	gatewayPrefix = "gateway/"
)

// splitName reads [KIND/][NAMESPACE/]NAME, where KIND is gateway or service in any
// case. What it leaves open is empty. Of two parts the first is a kind when it is the
// name of one: a Gateway of namespace service is gateway/service/NAME.
func splitName(arg string) (kind, namespace, name string, ok bool) {
	parts := strings.Split(arg, "/")
	if len(parts) > 1 {
		switch strings.ToLower(parts[0]) + "/" {
		case servicePrefix:
			kind, parts = translate.KindService, parts[1:]
		case gatewayPrefix:
			kind, parts = translate.KindGateway, parts[1:]
		}
	}
	if len(parts) > 2 || slices.Contains(parts, "") {
		return "", "", "", false
	}
	if len(parts) == 2 {
		namespace = parts[0]
	}
	return kind, namespace, parts[len(parts)-1], true
}

// spelled is an object of a cluster as splitName reads it, with its namespace.
func spelled(of cluster.Ref) string {
	name := of.NamespacedName.String()
	switch {
	case of.Kind == cluster.Service:
		return servicePrefix + name
	case of.Namespace+"/" == servicePrefix || of.Namespace+"/" == gatewayPrefix:
		return gatewayPrefix + name
	default:
		return name
	}
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
