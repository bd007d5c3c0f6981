package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/internal/reconcile"
)

// TestRefusedAddress: a Gateway that asks for an address of a type that its provider
// does not have is not accepted. Nothing is made of it when it is new, or else its
// last good state goes on being served, to whatever endpoints there are; and no status
// says that all is well.
func TestRefusedAddress(t *testing.T) {
	asking := func(addresses string) string {
		return strings.Replace(base, "metadata: {name: a}\nspec: {gatewayClassName: local,",
			"metadata: {name: a}\nspec: {gatewayClassName: local, addresses: ["+addresses+"],", 1)
	}
	const good, bad = "{value: 127.71.0.9}", "{type: Hostname, value: a.example}"
	tests := []struct {
		name, before, after string
		serves              bool // after
	}{
		{"new", "", bad, false},
		{"new, with a good one", "", good + ", " + bad, false},
		{"live, the good one replaced", good, bad, true},
		{"live, a bad one added", good, good + ", " + bad, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := tt.after
			if tt.before != "" {
				first = tt.before
			}
			w := newWorld(t, asking(first))
			if tt.before != "" {
				w.pass(w.all())
				w.loop.Change(w.change(strings.Replace(asking(tt.after), "10.0.0.1", "10.0.0.2", 1), reconcile.Removed).Change)
			}
			planned, err := w.loop.Plan(t.Context(), w.all())
			if err != nil {
				t.Fatal(err)
			}
			done := w.loop.Apply(t.Context(), planned, nil)
			serving := w.serving()
			if strings.Contains(serving, "127.71.0.9") != tt.serves || tt.serves && !strings.Contains(serving, "10.0.0.2") {
				t.Errorf("want its address served: %v, and its new endpoint; there is %s", tt.serves, serving)
			}
			got := conditions(t, w.loop.Statuses(planned, done, time.Unix(0, 0)), "a")
			for _, c := range []string{
				`"Accepted","status":"False"`, `"reason":"UnsupportedAddress"`, `"Programmed","status":"False"`,
				`"gatehouse.dev/InSync","status":"False"`, `"reason":"NotAccepted"`,
			} {
				if !strings.Contains(got, c) {
					t.Errorf("the status lacks %s: %s", c, got)
				}
			}
			if others := conditions(t, w.loop.Statuses(planned, done, time.Unix(0, 0)), "b"); strings.Contains(others, "NotAccepted") {
				t.Errorf("another Gateway pays for it: %s", others)
			}
		})
	}
}
