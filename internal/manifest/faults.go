package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// faultsOf turns the API machinery's errors into ours: the same facts, said once
// and shortly.
func faultsOf(errs field.ErrorList) []fault {
	var out []fault
	for _, err := range errs {
		path := err.Field
		if path == "<nil>" {
			path = ""
		}
		out = append(out, fault{field: strings.TrimPrefix(path, "."), message: explain(err)})
	}
	return out
}

func explain(err *field.Error) string {
	detail := detailOf(err)
	switch err.Type {
	case field.ErrorTypeRequired:
		return strings.TrimSuffix("is required: "+detail, ": ")
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("%s is not one of %s", shown(err.BadValue), strings.TrimPrefix(detail, "supported values: "))
	case field.ErrorTypeDuplicate:
		return fmt.Sprintf("%s is there twice", shown(err.BadValue))
	case field.ErrorTypeInvalid:
		return strings.TrimPrefix(shown(err.BadValue)+": "+detail, ": ")
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid, field.ErrorTypeForbidden:
		return detail
	default:
		return strings.TrimSuffix(err.Type.String()+": "+detail, ": ")
	}
}

// detailOf drops "spec.x in body " from the schema validator's texts, for the
// problem names the field already.
func detailOf(err *field.Error) string {
	detail := strings.TrimPrefix(err.Detail, err.Field+" in body ")
	if kind, got, ok := strings.Cut(detail, ": "); ok && strings.HasPrefix(kind, "must be of type ") {
		detail = kind + ", not " + strings.Trim(got, `"`)
	}
	return detail
}

// shown is a value for a message, or "" where the value would say nothing.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" || v == "object" || v == "array" {
			return ""
		}
		return quoted(v)
	case bool, int, int32, int64, float64:
		return fmt.Sprint(v)
	case map[string]any: // the keys of a list's item
		text, err := json.Marshal(v)
		if err != nil || len(text) > 200 {
			return "this value"
		}
		return string(text)
	default:
		return ""
	}
}
