package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestLock lets one writer in, names it to the next, and is free again afterwards.
func TestLock(t *testing.T) {
	s := state{filepath.Join(t.TempDir(), "c")}
	unlock, err := s.lock("apply")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.lock("destroy"); err == nil || !strings.Contains(err.Error(), "gatehouse apply, process ") {
		t.Errorf("the second writer gets %v, want a refusal that names the first", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := s.lock("destroy")
	if err != nil {
		t.Fatalf("the lock is not free again: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

// TestRecord is written whole or not at all; what cannot be read says what it
// costs to do without.
func TestRecord(t *testing.T) {
	s := state{t.TempDir()}
	owner := lbmodel.Owner{Kind: "Gateway", Namespace: "a", Name: "g"}
	if r, err := s.record(); err != nil || len(r.Gateways) > 0 {
		t.Errorf("a record that was never written: %+v, %v", r, err)
	}
	if err := s.save(recordFile, record{Gateways: []recordedGateway{{Owner: owner, Deletion: lbmodel.DeletionProtect}}}); err != nil {
		t.Fatal(err)
	}
	r, err := s.record()
	if err != nil || r.kept(owner) != lbmodel.DeletionProtect || r.kept(lbmodel.Owner{}) != "" {
		t.Errorf("record %+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.record(); err == nil || !strings.Contains(err.Error(), "without the file nothing is lost but") {
		t.Errorf("a broken record: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("saving leaves %v behind (%v)", left, err)
	}
}

// TestRecordForgets: the statuses of a gateway that is gone go with it, and all of
// them with the last one.
func TestRecordForgets(t *testing.T) {
	status := func(kind, name string) objectStatus {
		return objectStatus{Kind: kind, Metadata: objectName{"a", name}, Status: []byte(`{}`)}
	}
	r := record{
		Gateways: []recordedGateway{{Owner: lbmodel.Owner{Kind: "Gateway", Namespace: "a", Name: "x"}}},
		Statuses: []objectStatus{status("Gateway", "x"), status("Gateway", "gone"), status("HTTPRoute", "r")},
	}
	r.noteStatuses([]objectStatus{status("HTTPRoute", "r")})
	if len(r.Statuses) != 2 || r.Statuses[0].Metadata.Name != "x" {
		t.Errorf("statuses are %+v, want those of Gateway x and of the route", r.Statuses)
	}
	r.Gateways = nil
	r.noteStatuses(nil)
	if len(r.Statuses) != 0 {
		t.Errorf("without a gateway %d statuses stay", len(r.Statuses))
	}
}
