package demo

import (
	"bytes"
	"encoding/json/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/internal/cli/term"
)

// TestDemo tells the whole story once, faster, and holds it to what the README
// promises: nobody is refused wrongly, nothing is lost, all three CAs were used.
func TestDemo(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	report, err := Run(t.Context(), Config{
		Out: term.NewScreen(&out, func(string) string { return "" }, term.Never), Breath: 150 * time.Millisecond,
	})
	if err != nil {
		t.Fatalf("the demo ended early: %v\n%s", err, &out)
	}
	for _, v := range report.Tour {
		if v.Status != v.Wanted {
			t.Errorf("%s: %s answered %d, want %d: %s", v.What, v.URL, v.Status, v.Wanted, v.Answer)
		}
	}
	if report.SecondPlan != 0 {
		t.Errorf("the second plan has %d steps, want none", report.SecondPlan)
	}
	if n := report.Canary["web/store-v2"]; n < 10 || n > 30 || n+report.Canary["web/store-v1"] != 200 {
		t.Errorf("canary %v, want about 20 of 200 from web/store-v2 and the rest from web/store-v1", report.Canary)
	}
	if a := report.Tour[4].Answer; !strings.Contains(a, "client is spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse-") {
		t.Errorf("the mesh let in %q, want the gateway by the identity that the mesh gave it", a)
	}
	checkRotation(t, report.Rotation)
	if strings.Contains(out.String(), "PRIVATE KEY") {
		t.Error("the demo printed a key")
	}
}

func checkRotation(t *testing.T, r Rotation) {
	t.Helper()
	if r.Failed != 0 || r.Requests < 100 {
		t.Errorf("%d of %d requests failed under load (%v), want none of at least 100", r.Failed, r.Requests, r.Failures)
	}
	if len(r.Stages) != 7 {
		t.Errorf("%d stages, want 7", len(r.Stages))
	}
	// One to add a root, one for the certificate, and two to drop a root: that it was
	// dropped is written down first.
	want := []int{0, 1, 1, 2, 1, 1, 2}
	for i, s := range r.Stages {
		if s.Changes != want[i] {
			t.Errorf("stage %q took %d changes, want %d", s.Name, s.Changes, want[i])
		}
	}
	for _, root := range []string{"mesh CA 1", "mesh CA 2", "mesh CA 3"} {
		if r.Handshakes.Gateway[root] == 0 || r.Handshakes.Backend[root] == 0 {
			t.Errorf("no handshake under %s: %+v", root, r.Handshakes)
		}
	}
	if len(r.Handshakes.Gateway) != 3 || len(r.Handshakes.Backend) != 3 {
		t.Errorf("handshakes under other roots: %+v", r.Handshakes)
	}
}

// TestInMesh: the demo is the example with a mesh in it, and says so when the example
// is not the one that it knows.
func TestInMesh(t *testing.T) {
	const gateway = "spec:\n  listeners: []\n"
	for _, c := range []struct{ name, why, file, text, want string }{
		{"the gateway", "the mesh gives it a certificate", "gateway.yaml", gateway + "  tls:\n    backend:\n      clientCertificateRef: {name: x}\n", gateway},
		{"the team in the mesh", "it has a mesh in the place of a policy", checkoutFile, "anything", checkout},
		{"everybody else", "nothing changes for them", "team-web.yaml", "anything", "anything"},
		{"another gateway", "a certificate that stayed would hide that of the mesh", "gateway.yaml", gateway, ""},
		{"something after it", "it would be lost", "gateway.yaml", gateway + "  tls:\n    backend:\n      {}\n---\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := inMesh(c.file, c.text)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v, want %q: %s", got, err, c.want, c.why)
			}
		})
	}
}

func TestReportJSON(t *testing.T) {
	want := Report{Failed: 1, Canary: map[string]int{"a": 2}, Rotation: Rotation{Stages: []Stage{{Name: "s"}}}}
	want.Rotation.Requests = 7
	var out bytes.Buffer
	if err := want.writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Failed   int
		Rotation struct{ Requests int }
	}
	if err := json.Unmarshal(out.Bytes(), &got, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if got.Failed != 1 || got.Rotation.Requests != 7 {
		t.Errorf("read back %+v from %s", got, &out)
	}
}

// TestExampleCertificates keeps the committed file in the form that is generated,
// but for its random content.
func TestExampleCertificates(t *testing.T) {
	made, err := ExampleCertificates()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../examples/shop/" + certificatesFile)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := skeleton(kept), skeleton(made); got != want {
		t.Errorf("examples/shop/%s is out of date: gatehouse demo --write-certificates\n%s", certificatesFile, got)
	}
}

// skeleton is the file without what differs each time.
func skeleton(text []byte) string {
	var out []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "    ") {
			out = append(out, strings.SplitAfter(line, "tls.")[0])
		}
	}
	return strings.Join(out, "")
}
