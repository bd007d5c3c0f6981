package workload

import (
	"errors"
	"fmt"
	"slices"
)

// Selects reads a label selector out of an object (metav1.LabelSelector's form)
// and says whether it selects labels. An empty one selects all; nil is none and
// selects nothing. It is an error if it cannot be read.
func Selects(selector map[string]any, labels map[string]string) (bool, error) {
	if selector == nil {
		return false, nil
	}
	equal, err := matchLabels(selector["matchLabels"], labels)
	if err != nil || !equal {
		return false, err
	}
	expressions, ok := selector["matchExpressions"].([]any)
	if !ok && selector["matchExpressions"] != nil {
		return false, errors.New("matchExpressions is no list")
	}
	for _, e := range expressions {
		if ok, err := matchExpression(e, labels); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func matchLabels(want any, labels map[string]string) (bool, error) {
	m, ok := want.(map[string]any)
	if !ok && want != nil {
		return false, errors.New("matchLabels is no map")
	}
	all := true
	for key, v := range m {
		text, ok := v.(string)
		if !ok {
			return false, fmt.Errorf("matchLabels: the value of %q is no text", key)
		}
		have, ok := labels[key]
		all = all && ok && have == text
	}
	return all, nil
}

func matchExpression(e any, labels map[string]string) (bool, error) {
	m, _ := e.(map[string]any)
	key, _ := m["key"].(string)
	operator, _ := m["operator"].(string)
	values, _ := m["values"].([]any)
	have, found := labels[key]
	among := found && slices.Contains(values, any(have))
	switch {
	case key == "":
		return false, errors.New("matchExpressions: an expression has no key")
	case operator == "In" && len(values) > 0:
		return among, nil
	case operator == "NotIn" && len(values) > 0:
		return !among, nil
	case operator == "Exists":
		return found, nil
	case operator == "DoesNotExist":
		return !found, nil
	default:
		return false, fmt.Errorf("matchExpressions: cannot read operator %q of %q with %d values", operator, key, len(values))
	}
}
