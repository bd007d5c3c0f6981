package lbmodel

import (
	"net/url"
	"strings"
)

// holdsQuery compares the first parameter of the name, as HTTPQueryParamMatch
// recommends; names and values are compared decoded and with regard to case.
// Parameters are parted by "&" only. One with a malformed encoding has no name
// or no value, and so matches nothing.
func (v *valueCheck) holdsQuery(query string) bool {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if decodesTo(name, v.name) {
			return v.holdsEncoded(value)
		}
	}
	return false
}

func (v *valueCheck) holdsEncoded(value string) bool {
	if v.regex == nil {
		return decodesTo(value, v.value)
	}
	if strings.IndexByte(value, '%') < 0 && strings.IndexByte(value, '+') < 0 {
		return v.regex.MatchString(value)
	}
	decoded, err := url.QueryUnescape(value)
	return err == nil && v.regex.MatchString(decoded)
}

// decodesTo says whether a query component is want once decoded, without making
// the decoded text.
func decodesTo(encoded, want string) bool {
	for i := 0; i < len(encoded); i++ {
		c := encoded[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			decoded, ok := percentByte(encoded[i:])
			if !ok {
				return false
			}
			c, i = decoded, i+2
		}
		if want == "" || want[0] != c {
			return false
		}
		want = want[1:]
	}
	return want == ""
}
