package schema

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
)

// common are parameters that every method takes
// (https://cloud.google.com/apis/docs/system-parameters).
var common = []string{"$.xgafv", "$alt", "$callback", "$fields", "$key", "$prettyPrint", "$userProject", "$unique", "access_token", "alt", "callback", "fields",
	"key", "oauth_token", "prettyPrint", "quotaUser", "uploadType", "upload_protocol", "userIp"}

// Parameters checks a query.
func (m *Method) Parameters(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		s := m.Query[name]
		switch {
		case s == nil && slices.Contains(common, name):
			continue
		case s == nil:
			return &Fault{Path: "", Detail: name, Unknown: true}
		case len(query[name]) > 1 && !s.Repeated:
			return &Fault{Path: name, Value: query[name][1], Detail: "The parameter comes twice."}
		}
		for _, value := range query[name] {
			if detail := s.parameter(value); detail != "" {
				return &Fault{Path: name, Value: value, Detail: detail}
			}
		}
	}
	for name, s := range m.Query {
		if s.Required && query.Get(name) == "" {
			return &Fault{Path: name, Value: "", Detail: "The parameter is required."}
		}
	}
	return nil
}

func (s *Schema) parameter(value string) string {
	var err error
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, value):
		return "There is no such value."
	case s.Type == "boolean":
		_, err = strconv.ParseBool(value)
	case s.Type == "integer" && s.Format == "uint32":
		_, err = strconv.ParseUint(value, 10, 32)
	case s.Type == "integer":
		_, err = strconv.ParseInt(value, 10, 64)
	}
	if err != nil {
		return "Must be " + s.Type + "."
	}
	return ""
}
