package aws

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// How paths are encoded.
//
// A plain value is compared with regard to case, which is documented; whether a
// regular expression is, is not. So whatever plain values can have is one, and what
// they cannot have is a regular expression only where no letter is in it, or where
// the operator vouches (PathRegexCaseSensitive).
//
// AWS compares the path after a normalisation of which no step is documented. What
// would be compared otherwise with one step than without cannot be told apart and
// is refused: parameters (";"), empty and dot segments, encoded slashes and
// percent signs, and bytes that are not ASCII.

// plainPath is what a value of a path-pattern condition can be without the
// wildcards [CT].
var plainPath = regexp.MustCompile("^[A-Za-z0-9_.$/~\"'@:+&-]+$")

// pathCondition is what takes the paths of a match; nil takes any.
func (e *encoder) pathCondition(m lbmodel.PathMatch) (*Condition, error) {
	if m.Kind == lbmodel.MatchRegex {
		return e.regexCondition(fieldPath, m.Value)
	}
	path, err := normalPath(m.Value)
	switch {
	case m.Value == "" && m.Kind != lbmodel.MatchExact:
		return nil, nil
	case err != nil:
		return nil, err
	case m.Kind == lbmodel.MatchExact:
		return e.literalPath(path, []string{path}, "")
	}
	prefix := strings.TrimRight(path, "/")
	if prefix == "" {
		return nil, nil
	}
	return e.literalPath(prefix, []string{prefix, prefix + "/*"}, "(/.*)?")
}

// literalPath takes a path by plain values, or by a regular expression with an end.
func (e *encoder) literalPath(path string, values []string, end string) (*Condition, error) {
	out := &Condition{Field: fieldPath, Values: values}
	if !plainPath.MatchString(path) {
		if hasLetter(path) && !assumes(e.settings, settings.PathRegexCaseSensitive) {
			return nil, fmt.Errorf("the path %s has characters that AWS takes in regular expressions only, which may not tell upper from lower case; "+
				"use others, or have the operator assume %s", path, settings.PathRegexCaseSensitive)
		}
		out.Values, out.Regex = nil, []string{"^" + quotedPath(path) + end + "$"}
	}
	return out, out.checkLength()
}

// hasLetter does not count the letters of hexadecimal numbers.
func hasLetter(path string) bool {
	return strings.ContainsFunc(encodedByte.ReplaceAllString(path, ""), isLetter)
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

var encodedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// quotedPath is a path in normal form as a regular expression. What is encoded in it
// may have been decoded before it is compared.
func quotedPath(path string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			out.WriteString(regexp.QuoteMeta(path[i : i+1]))
			continue
		}
		plain := string(unhex(path[i+1])<<4 | unhex(path[i+2]))
		fmt.Fprintf(&out, "(%%%c%s|%s)", path[i+1], eitherHex(path[i+2]), regexp.QuoteMeta(plain))
		i += 2
	}
	return out.String()
}

// eitherHex is an upper case hexadecimal digit in both cases.
func eitherHex(digit byte) string {
	if digit < 'A' {
		return string(digit)
	}
	return fmt.Sprintf("[%c%c]", digit, digit-'A'+'a')
}

func unhex(digit byte) byte {
	if digit <= '9' {
		return digit - '0'
	}
	return digit - 'A' + 10
}

// normalPath is a path of a match as lbmodel compares it: what a path may hold
// plainly is decoded, the rest encoded in upper case. An error says why AWS cannot
// compare it for certain.
func normalPath(path string) (string, error) {
	if path == "" || path[0] != '/' {
		return "", errors.New("the path does not begin with a slash")
	}
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) || !encodedByte.MatchString(path[i:i+3]) {
				return "", errors.New("the path holds a malformed percent-encoding")
			}
			hex := strings.ToUpper(path[i+1 : i+3])
			c, i = unhex(hex[0])<<4|unhex(hex[1]), i+2
			if c == '/' {
				return "", uncertain("an encoded slash")
			}
		}
		if err := writePath(&out, c); err != nil {
			return "", err
		}
	}
	return out.String(), checkSegments(out.String())
}

func writePath(out *strings.Builder, c byte) error {
	switch {
	case c == ';':
		return uncertain("a semicolon")
	case c == '%' || c == '\\':
		return uncertain("an encoded " + string(c))
	case c < 0x20 || c > 0x7e:
		return uncertain("bytes that are not visible ASCII")
	case c == '/' || isLetter(rune(c)) || strings.IndexByte("0123456789-._~!$&'()*+,=:@", c) >= 0:
		out.WriteByte(c)
	default:
		fmt.Fprintf(out, "%%%02X", c)
	}
	return nil
}

func uncertain(what string) error {
	return fmt.Errorf("the path holds %s; whether AWS changes that before it compares is not documented", what)
}

func checkSegments(path string) error {
	segments := strings.Split(strings.TrimSuffix(path[1:], "/"), "/")
	for _, s := range segments {
		switch {
		case s == "." || s == "..":
			return uncertain("a dot segment")
		case s == "" && path != "/":
			return uncertain("an empty segment")
		}
	}
	return nil
}

// refusedRegex is what AWS does not take [LR], or may read otherwise than RE2 does:
// groups that are more than groups, such as (?i) or (?P<name>…), classes of Unicode,
// and RE2's own anchors and quotes. The rest AWS has, or says so when the rule is made.
var refusedRegex = regexp.MustCompile(`\\[pPAzQC]|\(\?[^:]`)

// regexCondition takes a whole text by an expression.
func (e *encoder) regexCondition(field, expression string) (*Condition, error) {
	if _, err := lbmodel.CompileRegex(expression); err != nil {
		return nil, err
	}
	if refusedRegex.MatchString(strings.ReplaceAll(expression, `\\`, "")) {
		return nil, fmt.Errorf(`the regular expression %s has flags, named groups, classes of Unicode, \A, \z or \Q, which AWS may not take as they are`, expression)
	}
	out := &Condition{Field: field, Regex: []string{"^(" + expression + ")$"}}
	return out, out.checkLength()
}
