package roots

import (
	"maps"
	"slices"
	"time"
)

// Figures are a source's numbers.
type Figures struct {
	Name     string // as Set has it
	Where    string
	Readings uint64 // since it was started, the failed ones too
	Failures uint64 // readings after which a bundle had a problem
	Bundles  []BundleFigures
}

// BundleFigures are a bundle's.
type BundleFigures struct {
	Name     string
	Roots    int
	Age      time.Duration // see Bundle.Age
	Sequence uint64
	Failing  bool
	Expires  time.Time // the first of its roots to do so; zero: there are none
}

// Figures are those of all sources, sorted by name.
func (h *Hub) Figures() []Figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	var out []Figures
	for _, name := range slices.Sorted(maps.Keys(h.sources)) {
		w := h.sources[name]
		f := Figures{Name: name, Where: w.source.Where(), Readings: w.readings, Failures: w.failures}
		for _, b := range w.bundles {
			f.Bundles = append(f.Bundles, b.figures(now))
		}
		out = append(out, f)
	}
	return out
}

func (b Bundle) figures(now time.Time) BundleFigures {
	f := BundleFigures{Name: b.Name, Roots: len(b.Roots), Age: b.Age(now), Sequence: b.Sequence, Failing: b.Problem != ""}
	for _, r := range b.Roots {
		if f.Expires.IsZero() || r.NotAfter.Before(f.Expires) {
			f.Expires = r.NotAfter
		}
	}
	return f
}
