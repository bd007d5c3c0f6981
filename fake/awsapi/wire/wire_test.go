package wire

import (
	"bytes"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Name  string
	Value *string `wire:"value,always"`
}

type shape struct {
	Text  string
	Flag  *bool
	Count *int
	Share float64
	At    time.Time
	Many  []inner
	Words []string `wire:"Word"`
	Map   map[string]string
	kept  string // not on the wire
}

// Both dialects read what they say that lists look like.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, query, why string
		dialect          Dialect
	}{
		{"query", "Text=a%26b&Flag=false&Count=0&Share=0.5&At=2026-12-01T00:00:00Z&Many.member.2.Name=second&Many.member.1.value=&Word.member.1=w&Map.entry.1.key=k&Map.entry.1.value=v", "member", Query},
		{"ec2", "Text=a%26b&Flag=false&Count=0&Share=0.5&At=2026-12-01T00:00:00Z&Many.2.Name=second&Many.1.value=&Word.1=w&Map.entry.1.key=k&Map.entry.1.value=v", "no step", EC2},
	} {
		t.Run(c.name, func(t *testing.T) {
			form, err := url.ParseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			var got shape
			if err := c.dialect.Decode(form, &got); err != nil {
				t.Fatal(err)
			}
			want := shape{Text: "a&b", Flag: new(false), Count: new(0), Share: 0.5, At: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
				Many: []inner{{Value: new("")}, {Name: "second"}}, Words: []string{"w"}, Map: map[string]string{"k": "v"}}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(shape{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

// An empty list is given as a name without a value, and is not the same as none.
func TestEmptyLists(t *testing.T) {
	var got shape
	if err := Query.Decode(url.Values{"Word": {""}}, &got); err != nil || got.Words == nil || got.Many != nil {
		t.Errorf("read as %+v: %v", got, err)
	}
}

// What is unset is left out, what is set to nothing is not, and text is escaped.
func TestElement(t *testing.T) {
	for _, c := range []struct {
		name, want, why string
		dialect         Dialect
		value           shape
	}{
		{"nothing", "<s></s>", "nothing is set", Query, shape{kept: "x"}},
		{"pointers", "<s><Flag>false</Flag><Count>0</Count></s>", "set to zero", Query, shape{Flag: new(false), Count: new(0)}},
		{"lists", "<s><Many></Many><Word><member>&lt;a&gt;</member><member></member></Word></s>", "an empty list, and one with an empty item", Query, shape{Many: []inner{}, Words: []string{"<a>", ""}}},
		{"items", "<s><Many><item><value></value></item></Many></s>", "EC2's name for items", EC2, shape{Many: []inner{{Value: new("")}}}},
		{"time", "<s><At>2026-12-01T00:00:00.000Z</At><Map><entry><key>k</key><value></value></entry></Map></s>", "milliseconds", Query, shape{At: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Map: map[string]string{"k": ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			c.dialect.Element(&out, "s", c.value)
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

// Errors of both dialects have their own form.
func TestRefuse(t *testing.T) {
	refused := &Error{Status: 503, Code: "Slow", Message: "a < b"}
	for _, c := range []struct {
		name, want, why string
		protocol        Protocol
	}{
		{"query", `<ErrorResponse xmlns="ns"><Error><Type>Receiver</Type><Code>Slow</Code><Message>a &lt; b</Message></Error><RequestId>id</RequestId></ErrorResponse>`, "who is to blame", XML{Query, "ns"}},
		{"ec2", `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<Response><Errors><Error><Code>Slow</Code><Message>a &lt; b</Message></Error></Errors><RequestID>id</RequestID></Response>`, "no namespace", XML{EC2, "ns"}},
		{"json", `{"__type":"Slow","message":"a < b"}`, "two members", JSON{"S"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			c.protocol.Refuse(w, nil, "id", refused)
			if diff := cmp.Diff(c.want, w.Body.String()); diff != "" || w.Code != 503 {
				t.Errorf("%d, %s (-want +got):\n%s", w.Code, c.why, diff)
			}
		})
	}
}
