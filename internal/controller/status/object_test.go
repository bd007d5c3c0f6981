package status

import (
	"testing"

	"gatehouse.dev/internal/translate"
)

// TestMadeByUs: an informer may tell of a write before its answer is here, and long
// after a pass has seen it. Why this table: each that is taken for somebody else's is
// a pass for nothing.
func TestMadeByUs(t *testing.T) {
	key := translate.Key{Kind: translate.KindGateway, Namespace: "apps", Name: "edge"}
	tests := []struct {
		name string
		does func(*recent)
		want bool
	}{
		{"nothing was written", func(*recent) {}, false},
		{"a write is on its way", func(r *recent) { r.begin(key) }, true},
		{"it failed", func(r *recent) { r.begin(key); r.end(key) }, false},
		{"one of two is on its way", func(r *recent) { r.begin(key); r.begin(key); r.end(key) }, true},
		{"it made this version", func(r *recent) { r.put(key, object{version: "7"}) }, true},
		{"it made an older version", func(r *recent) { r.put(key, object{version: "6"}) }, false},
		{"a pass knows it already", func(r *recent) {
			r.put(key, object{version: "7"})
			r.newest(key, object{version: "7"})
		}, true},
		{"the object is gone", func(r *recent) { r.put(key, object{version: "7"}); r.forget(key) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r recent
			tt.does(&r)
			if got := r.made(key, "7"); got != tt.want {
				t.Errorf("made is %v, want %v", got, tt.want)
			}
		})
	}
}
