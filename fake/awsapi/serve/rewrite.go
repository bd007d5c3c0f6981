package serve

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// rewrite is a compiled Transform.
type rewrite struct {
	Transform
	regex *regexp.Regexp
	err   error
}

func newRewrite(t Transform) rewrite {
	r := rewrite{Transform: t, err: CheckRegex(t.Regex)}
	if r.err == nil {
		r.regex, r.err = regexp.Compile(t.Regex)
	}
	return r
}

// rewritten is what a rule's transforms make of a request's host and URL. An
// error is the 500 of a transform that matched and failed.
func (r *rule) rewritten(in *Request, u *Undocumented) (host, path, query string, err error) {
	host, path, query = in.Host, in.Path, in.Query
	for _, t := range r.rewrites {
		if t.err != nil {
			return "", "", "", fmt.Errorf("%s %q: %w", t.Type, t.Regex, t.err)
		}
		switch t.Type {
		case HostHeaderRewrite:
			host, err = t.host(in.Host, u)
		case URLRewrite:
			path, query, err = t.url(in, u)
		default:
			err = fmt.Errorf("%q is no type of transform", t.Type)
		}
		if err != nil {
			return "", "", "", err
		}
	}
	return host, path, query, nil
}

func (t *rewrite) host(host string, u *Undocumented) (string, error) {
	input, port := host, ""
	if u.RewriteHostInput == WithoutPort {
		input = hostOnly(host)
		port = host[len(input):]
	}
	out, err := t.replace(input, u)
	switch {
	case err != nil:
		return "", err
	case out == "" && u.RewriteEmpty == Fails:
		return "", fmt.Errorf("%s makes an empty host", t.Type)
	case out == "":
		return host, nil
	case strings.ContainsAny(out, " \t\r\n/?#@"):
		return "", fmt.Errorf("%s makes %q, which is no host", t.Type, out)
	default:
		return out + port, nil
	}
}

// url replaces in the path and, if it is seen, the query behind it.
func (t *rewrite) url(in *Request, u *Undocumented) (path, query string, err error) {
	input := in.Path
	if u.RewriteInput == Normalised {
		input = normalisePath(in.Path, u)
	}
	whole := u.RewriteQuery == Seen && in.Query != ""
	if whole {
		input += "?" + in.Query
	}
	if !t.regex.MatchString(input) {
		return in.Path, in.Query, nil
	}
	out, err := t.replace(input, u)
	if err != nil {
		return "", "", err
	}
	path, query, _ = strings.Cut(out, "?")
	if !whole && in.Query != "" { // the regex saw the path only: the query stays
		query = strings.TrimPrefix(query+"&"+in.Query, "&")
	}
	return t.checked(path, query, u)
}

func (t *rewrite) checked(path, query string, u *Undocumented) (string, string, error) {
	if path == "" && u.RewriteEmpty == Fails {
		return "", "", fmt.Errorf("%s makes an empty path", t.Type)
	}
	path = cmp.Or(path, "/")
	if _, err := url.PathUnescape(path); err != nil || path[0] != '/' || strings.ContainsAny(path+query, " \t\r\n#") {
		return "", "", fmt.Errorf("%s makes %q, which is no path", t.Type, path)
	}
	return path, query, nil
}

// replace is search-and-replace: what is not matched stays.
func (t *rewrite) replace(input string, u *Undocumented) (string, error) {
	limit := 1
	if u.RewriteOccurrence == Every {
		limit = -1
	}
	var out strings.Builder
	done := 0
	for _, at := range t.regex.FindAllStringSubmatchIndex(input, limit) {
		out.WriteString(input[done:at[0]])
		text, err := t.expand(input, at, u)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		done = at[1]
	}
	out.WriteString(input[done:])
	return out.String(), nil
}

// expand fills $1, $2 … in.
func (t *rewrite) expand(input string, at []int, u *Undocumented) (string, error) {
	var out strings.Builder
	for i := 0; i < len(t.Replace); i++ {
		c := t.Replace[i]
		if c != '$' {
			out.WriteByte(c)
			continue
		}
		next := i + 1
		for next < len(t.Replace) && next < i+3 && '0' <= t.Replace[next] && t.Replace[next] <= '9' {
			next++
		}
		if next == i+1 {
			i += dollar(&out, t.Replace[next:], u)
			continue
		}
		text, err := captured(input, at, t.Replace[i+1:next], u)
		if err != nil {
			return "", fmt.Errorf("%s: %w", t.Type, err)
		}
		out.WriteString(text)
		i = next - 1
	}
	return out.String(), nil
}

// dollar writes a $ that names no group, and returns how many bytes of rest it
// used.
func dollar(out *strings.Builder, rest string, u *Undocumented) int {
	if u.RewriteDollar != Dropped {
		out.WriteByte('$')
	}
	if u.RewriteDollar == Doubled && strings.HasPrefix(rest, "$") {
		return 1
	}
	return 0
}

func captured(input string, at []int, digits string, u *Undocumented) (string, error) {
	n := int(digits[0] - '0')
	if len(digits) == 2 {
		n = n*10 + int(digits[1]-'0')
	}
	if 2*n+1 < len(at) && at[2*n] >= 0 {
		return input[at[2*n]:at[2*n+1]], nil
	}
	switch u.RewriteMissingGroup {
	case Literal:
		return "$" + digits, nil
	case Fails:
		return "", fmt.Errorf("there is no group $%s in %q", digits, input)
	default:
		return "", nil
	}
}
