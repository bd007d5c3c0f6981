package filter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// compare is one comparison.
func compare(field, operator, want string) (Filter, error) {
	test, err := tester(operator, want)
	if err != nil {
		return nil, err
	}
	negative := operator == "!=" || operator == "ne" || operator == "!~"
	path := strings.Split(field, ".")
	return func(o map[string]any) bool {
		return found(o, path, test) != negative
	}, nil
}

// tester tells whether a value fits; of negative operators, whether it is what must not
// be.
func tester(operator, want string) (func(any) bool, error) {
	switch operator {
	case "=", "!=":
		return func(v any) bool { return matches(want, v) }, nil
	case ":":
		return func(v any) bool {
			return want == "*" || strings.Contains(strings.ToLower(text(v)), strings.ToLower(want))
		}, nil
	case "eq", "ne", "~", "!~":
		whole, err := regexp.Compile("^(?:" + want + ")$")
		if err != nil {
			return nil, fmt.Errorf("expression %q: %w", want, err)
		}
		return func(v any) bool { return whole.MatchString(text(v)) }, nil
	case "<", ">", "<=", ">=":
		return func(v any) bool { return ordered(operator, text(v), want) }, nil
	}
	return nil, fmt.Errorf("unknown operator %q", operator)
}

// matches compares with a value in which * stands for anything.
func matches(want string, v any) bool {
	got := text(v)
	if !strings.Contains(want, "*") {
		return got == want
	}
	parts := strings.Split(want, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}

// found looks for a value that fits at a path; lists are looked through. A key may
// itself have dots, as labels' may.
func found(v any, path []string, test func(any) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if found(e, path, test) {
				return true
			}
		}
		return false
	case map[string]any:
		if len(path) == 0 {
			return len(v) > 0 && test("")
		}
		for n := range path {
			key := strings.Trim(strings.Join(path[:n+1], "."), `"`)
			if inside, ok := v[key]; ok && found(inside, path[n+1:], test) {
				return true
			}
		}
		return false
	}
	return len(path) == 0 && test(v)
}

func ordered(operator, got, want string) bool {
	order := strings.Compare(got, want)
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(want, 64)
	if errA == nil && errB == nil {
		switch {
		case a < b:
			order = -1
		case a > b:
			order = 1
		default:
			order = 0
		}
	}
	switch operator {
	case "<":
		return order < 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	}
	return order >= 0
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
