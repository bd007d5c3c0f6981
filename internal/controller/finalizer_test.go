package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
)

// TestFinalizers decides about finalizers. Why this table: others have theirs beside
// ours, and an object that is going takes no new one.
func TestFinalizers(t *testing.T) {
	now := metav1.Now()
	const other = "example.org/other"
	tests := []struct {
		name    string
		decide  finalizing
		have    []string
		going   bool
		want    []string
		differs bool
	}{
		{name: "added beside others", decide: withFinalizer, have: []string{other}, want: []string{other, translate.Finalizer}, differs: true},
		{name: "there already", decide: withFinalizer, have: []string{translate.Finalizer}, want: []string{translate.Finalizer}},
		{name: "never added to what is going", decide: withFinalizer, have: []string{other}, going: true, want: []string{other}},
		{name: "removed alone", decide: withoutFinalizer, have: []string{other, translate.Finalizer}, going: true, want: []string{other}, differs: true},
		{name: "not there", decide: withoutFinalizer, have: []string{other}, want: []string{other}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Finalizers: tt.have}}
			if tt.going {
				g.DeletionTimestamp = &now
			}
			got, differs := tt.decide(g, translate.Finalizer)
			if d := cmp.Diff(tt.want, got); d != "" || differs != tt.differs {
				t.Errorf("differs %v, want %v; finalizers (-want +got):\n%s", differs, tt.differs, d)
			}
		})
	}
}
