package gcpcalls

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// place is a path taken apart.
type place struct {
	parent     string // all before the collection
	project    string
	scope      string // global, regions, zones, aggregated, locations; "" is the project itself
	location   string // of regions, zones and locations
	collection string
	name       string // "" is the whole collection
}

// key is how the table names a collection.
func (p place) key() string { return p.scope + "/" + p.collection }

func placeOf(path string) (place, error) {
	parts := strings.Split(path, "/")
	bad := &Error{Path: path, Reason: ReasonNoMethod, Message: "it is no path such as projects/p/global/backendServices/b"}
	if len(parts) < 2 || parts[0] != "projects" || parts[1] == "" {
		return place{}, bad
	}
	out := place{project: parts[1]}
	switch n := len(parts); {
	case n == 2:
		out.collection, out.name = "projects", parts[1]
	case n == 4: // projects/p/regions/r
		out.collection, out.name = parts[2], parts[3]
	case n == 5 && (parts[2] == "global" || parts[2] == "aggregated"):
		out.scope, out.collection, out.name = parts[2], parts[3], parts[4]
	case n >= 6 && n%2 == 0:
		out.scope, out.location, out.collection, out.name = parts[2], parts[3], parts[n-2], parts[n-1]
	default:
		return place{}, bad
	}
	out.parent = strings.Join(parts[:max(2, len(parts)-2)], "/")
	return out, nil
}

// requestID names a change, as a UUID: the same for every attempt of it, and another one
// for the next change, be it to the same body again.
func (c *Client) requestID(verb, path string, body []byte) string {
	h := sha256.New()
	for _, part := range []string{c.seed, strconv.FormatUint(c.made.Add(1), 10), verb, path, string(body)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	b := h.Sum(nil)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8, RFC 9562 section 5.8
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
