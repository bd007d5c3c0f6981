package lbmodel

import "strings"

// EditPath is the escaped path that the backend gets for a request's escaped
// path. Prefix is what the rule matched (Answer.Prefix); "" and "/" are the
// root. The query is no part of either and stays. A nil Rewrite, or one without
// a path, changes nothing.
func (r *Rewrite) EditPath(escapedPath, prefix string) string {
	if r == nil || r.Path == nil {
		return escapedPath
	}
	return r.Path.Apply(escapedPath, prefix)
}

// BackendPath is the escaped path that a backend gets, of the edits of its rule
// and its own. A backend's own edit stands instead of the rule's: both speak of
// the prefix that the rule matched, which is gone once one of them is done.
func BackendPath(rule, backend *Rewrite, escapedPath, prefix string) string {
	if backend != nil && backend.Path != nil {
		return backend.EditPath(escapedPath, prefix)
	}
	return rule.EditPath(escapedPath, prefix)
}

// Apply edits an escaped path as HTTPPathModifier of Gateway API has it in its
// table. What it makes begins with exactly one slash and has exactly one where
// the replaced prefix meets the rest; slashes doubled further on are the
// client's and stay. A path that is not below prefix stays as it is.
func (e *PathEdit) Apply(escapedPath, prefix string) string {
	if e.Kind == ReplaceFullPath {
		return oneLeadingSlash(escapePath(e.Value))
	}
	rest, ok := pathBelow(escapedPath, prefix)
	if !ok {
		return escapedPath
	}
	base := strings.TrimRight(escapePath(e.Value), "/")
	if rest != "" {
		base += oneLeadingSlash(rest)
	}
	return oneLeadingSlash(base)
}

// pathBelow is what follows the elements of prefix in path: "" or from a slash
// on. The elements are counted, since a path may spell them in another encoding
// than the prefix does.
func pathBelow(path, prefix string) (string, bool) {
	prefix = strings.TrimRight(prefix, "/")
	if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
		return rest, true
	}
	end := elementsEnd(path, strings.Count(prefix, "/"))
	head, ok := normalPath(path[:end])
	want, _ := normalPath(prefix)
	return path[end:], ok && head == want
}

// elementsEnd is where the first n elements of path end.
func elementsEnd(path string, n int) int {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return len(path)
}

func oneLeadingSlash(path string) string { return "/" + strings.TrimLeft(path, "/") }

// escapePath encodes whatever a path may not hold and leaves encodings alone, so
// that no value of a route can end the path early or break a header line.
func escapePath(path string) string {
	return escapeExcept(path, func(c byte) bool { return c == '/' || isPathChar(c) })
}

// escapeQuery is escapePath for the part behind the question mark. The brackets
// and the like that browsers send plainly stay.
func escapeQuery(query string) string {
	return escapeExcept(query, func(c byte) bool { return '!' <= c && c <= '~' && c != '#' })
}

func escapeExcept(s string, plain func(byte) bool) string {
	var out strings.Builder
	for i := range len(s) {
		_, encoded := percentByte(s[i:])
		if plain(s[i]) || s[i] == '%' && encoded {
			out.WriteByte(s[i])
			continue
		}
		writeEncoded(&out, s[i])
	}
	return out.String()
}

func writeEncoded(out *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	out.WriteByte('%')
	out.WriteByte(hex[c>>4])
	out.WriteByte(hex[c&15])
}
