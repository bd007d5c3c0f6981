package lbmodel

import "strings"

// How paths are compared.
//
// A path is matched as it was sent, after RFC 3986 §6.2.2: a character that a
// path may hold plainly is the same percent-encoded ("/%61" is "/a"), and
// anything else is the same in upper or lower hex. An encoded slash stays part
// of its element: "/a%2Fb" is not below "/a".
//
// Backends differ in how they read encoded slashes, backslashes and doubled
// slashes, and a path that this gateway reads in one way and the backend in
// another walks around the rule that should have caught it. So the matcher also
// asks what its rules say to the other reading, and answers only when both lead
// to the same rule. Dot segments, in either reading, are refused: a client
// removes them before it sends (RFC 3986 §5.2.4), and behind a rewritten prefix
// they could climb out of it. What is refused should be answered 400.

// pathReading is one request path, as matching sees it.
type pathReading struct {
	sent    string // normal form
	other   string // encoded slashes and backslashes read as slashes, runs of slashes as one
	refused string // why no rule may answer; "" is fine
}

// isPlainPath says whether the path has only one reading, its own bytes. It is
// the fast way for nearly every request.
func isPlainPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		switch c := path[i]; {
		case c == '/':
			if i > 0 && path[i-1] == '/' {
				return false
			}
		case c == '.':
			if path[i-1] == '/' && startsDotSegment(path[i:]) {
				return false
			}
		case !isPathChar(c):
			return false
		}
	}
	return true
}

// startsDotSegment says whether s begins with the segment "." or "..", also
// with parameters: some servers drop ";x" before they resolve "..;x".
func startsDotSegment(s string) bool {
	rest := strings.TrimPrefix(s[1:], ".")
	return rest == "" || rest[0] == '/' || rest[0] == ';'
}

// isPathChar is pchar of RFC 3986 §3.3 without percent-encoding.
func isPathChar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0
}

// readPath takes a path that is not plain. No path, as in CONNECT, and "*", as
// in OPTIONS, stand for the root.
func readPath(path string) pathReading {
	if path == "" || path == "*" {
		return pathReading{sent: "/", other: "/"}
	}
	if path[0] != '/' {
		return pathReading{refused: "the path does not begin with a slash"}
	}
	sent, ok := normalPath(path)
	if !ok {
		return pathReading{refused: "the path holds a malformed percent-encoding"}
	}
	other := slashesDecoded(sent)
	return pathReading{sent: sent, other: other, refused: unsafePath(other)}
}

func unsafePath(path string) string {
	if strings.Contains(path, "%00") {
		return "the path holds an encoded NUL"
	}
	for i := range len(path) - 1 {
		if path[i] == '/' && path[i+1] == '.' && startsDotSegment(path[i+1:]) {
			return "the path holds a dot segment"
		}
	}
	return ""
}

// normalPath encodes what a path may not hold plainly, in upper case hex, and
// decodes the rest. It is false for a malformed encoding.
func normalPath(path string) (string, bool) {
	var out strings.Builder
	out.Grow(len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch c {
		case '/':
			out.WriteByte(c)
			continue
		case '%':
			decoded, ok := percentByte(path[i:])
			if !ok {
				return "", false
			}
			c, i = decoded, i+2
		}
		if isPathChar(c) {
			out.WriteByte(c)
		} else {
			writeEncoded(&out, c)
		}
	}
	return out.String(), true
}

// percentByte decodes the "%XX" that s begins with.
func percentByte(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, low := hexDigit(s[1]), hexDigit(s[2])
	return high<<4 | low, high < 16 && low < 16
}

// hexDigit is the digit's value, or 255.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	default:
		return 255
	}
}

func slashesDecoded(normal string) string {
	normal = strings.NewReplacer("%2F", "/", "%5C", "/").Replace(normal)
	for strings.Contains(normal, "//") {
		normal = strings.ReplaceAll(normal, "//", "/")
	}
	return normal
}
