package gcpapi_test

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/schema"
)

// random makes bodies that Google's definitions allow, and that mostly make no sense.
type random struct {
	*rand.Rand
	api *schema.API
}

// texts are what fields of text get, so that some of it fits.
var texts = []string{"", "a", "/", "/a/*", "80", "80-90", "10.0.0.1", "10.0.0.0/24", "*", "a.example", "-----BEGIN CERTIFICATE-----", "default",
	"global/healthChecks/a", "global/backendServices/a", "global/urlMaps/a", "global/targetHttpProxies/a", "global/networks/default", "zones/us-central1-a/networkEndpointGroups/a",
	"regions/us-central1/subnetworks/default", "//certificatemanager.googleapis.com/projects/test-project/locations/global/certificates/a", "https://x/projects/y", "node-a"}

func (r random) value(s *schema.Schema, depth int) any {
	if s.Ref != "" {
		s = r.api.Schemas[s.Ref]
	}
	switch {
	case r.IntN(12) == 0:
		return nil
	case len(s.Enum) > 0:
		return s.Enum[r.IntN(len(s.Enum))]
	}
	switch s.Type {
	case "object":
		return r.object(s, depth-1)
	case "array":
		out := []any{}
		for range r.IntN(3) {
			if v := r.value(s.Items, depth-1); v != nil {
				out = append(out, v)
			}
		}
		return out
	case "boolean":
		return r.IntN(2) == 0
	case "integer":
		return float64(r.IntN(200) - 5)
	case "number":
		return r.Float64() * 10
	}
	return r.text(s.Format)
}

func (r random) text(format string) any {
	switch format {
	case "int64", "uint64":
		return fmt.Sprint(r.IntN(1000))
	case "byte":
		return "AAAA"
	}
	return texts[r.IntN(len(texts))]
}

func (r random) object(s *schema.Schema, depth int) map[string]any {
	out := map[string]any{}
	if s.Values != nil {
		out["k"] = r.value(s.Values, depth)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if depth > 0 && r.IntN(3) > 0 {
			out[name] = r.value(s.Fields[name], depth)
		}
	}
	return out
}

// Whatever the definitions allow is answered, not by a crash and not by a server error;
// and what is refused changes nothing.
func TestAnyBody(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.shop()
	r := random{rand.New(rand.NewPCG(7, 11)), schema.Compute()}
	var writes []*schema.Method
	for _, m := range r.api.Methods {
		if m.HTTP != "GET" && m.HTTP != "DELETE" && m.Request != "" {
			writes = append(writes, m)
		}
	}
	taken, before := 0, w.Dump()
	for i := range 800 {
		m := writes[r.IntN(len(writes))]
		body := r.object(r.api.Schemas[m.Request], 4)
		if m.Verb() == "insert" {
			body["name"] = []string{"a", "b", "shop", "web"}[r.IntN(4)]
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.NewReplacer("{project}", project, "{region}", region, "{zone}", zone).Replace(m.Path)
		if at := strings.IndexByte(path, '{'); at >= 0 {
			path = path[:at] + []string{"a", "shop", "web"}[r.IntN(3)] + path[strings.IndexByte(path, '}')+1:]
		}
		status, answer := w.raw(m.HTTP, path, string(text))
		switch {
		case status == 200:
			taken++
			before = w.Dump()
		case status >= 500:
			t.Fatalf("%s %s: %d %s", m.ID, text, status, answer)
		case i%8 == 0 && w.Dump() != before:
			t.Fatalf("%s %s was refused with %s, and changed something", m.ID, text, answer)
		}
	}
	if taken < 15 {
		t.Errorf("only %d of the bodies were taken: they are no test", taken)
	}
}
