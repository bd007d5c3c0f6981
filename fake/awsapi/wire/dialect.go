package wire

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// Dialect is one of the two ways in which AWS writes lists.
type Dialect struct {
	Request string // the step between a list's name and its numbers: "member", or none
	Reply   string // the element of a list's items
	Entries string // the step between a map's name and its numbers
}

// The dialects.
var (
	// Query is spoken by Elastic Load Balancing and STS.
	Query = Dialect{Request: "member", Reply: "member", Entries: "entry"}
	// EC2 is spoken by EC2 alone.
	EC2 = Dialect{Reply: "item", Entries: "entry"}
)

// Malformed says which parameter of a request can't be read, and why.
type Malformed struct {
	Parameter string
	Why       string
}

// Error implements error.
func (m *Malformed) Error() string { return fmt.Sprintf("parameter %s: %s", m.Parameter, m.Why) }

// framing are the parameters of the protocol itself.
func framing(name string) bool { return name == "Action" || name == "Version" }

// Decode reads a form into the struct that into points to. Its error is a
// *[Malformed].
func (d Dialect) Decode(form url.Values, into any) error {
	root := &node{}
	for name, values := range form {
		if framing(name) {
			continue
		}
		if len(values) != 1 {
			return &Malformed{name, "it is given more than once"}
		}
		root.put(strings.Split(name, "."), values[0])
	}
	return d.read(root, "", reflect.ValueOf(into).Elem())
}

// field is how a struct's field is written.
type field struct {
	index  []int
	name   string
	always bool
}

func fieldsOf(t reflect.Type) []field {
	out := make([]field, 0, t.NumField())
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("wire"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out = append(out, field{f.Index, name, option == "always"})
	}
	return out
}

var timeType = reflect.TypeFor[time.Time]()
