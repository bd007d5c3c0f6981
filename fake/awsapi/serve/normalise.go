package serve

import "strings"

// normalisePath is the path as path-pattern sees it. That there is a
// normalisation is documented; of what it consists is not.
func normalisePath(path string, u *Undocumented) string {
	if u.PathDecoding != Raw {
		path = decodePath(path, u.PathDecoding)
	}
	if u.PathParameters == Removed {
		path = withoutParameters(path)
	}
	if u.PathSlashes == Merged {
		path = mergeSlashes(path)
	}
	if u.PathDots == Removed {
		path = withoutDots(path)
	}
	return path
}

// decodePath decodes percent-encoded bytes: all, or those that need no encoding
// (RFC 3986 §2.3).
func decodePath(path string, which Position) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		c, ok := encodedByte(path[i:])
		if !ok || which == Unreserved && !isUnreserved(c) {
			out.WriteByte(path[i])
			continue
		}
		out.WriteByte(c)
		i += 2
	}
	return out.String()
}

func encodedByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	high, ok1 := hexDigit(s[1])
	low, ok2 := hexDigit(s[2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	default:
		return 0, false
	}
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func withoutParameters(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, ";")
	}
	return strings.Join(parts, "/")
}

func mergeSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// withoutDots removes dot segments (RFC 3986 §5.2.4) and keeps empty ones.
func withoutDots(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	parts := strings.Split(path[1:], "/")
	var out []string
	for i, p := range parts {
		last := i == len(parts)-1
		switch p {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			out = out[:max(len(out)-1, 0)]
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, p)
		}
	}
	return "/" + strings.Join(out, "/")
}
