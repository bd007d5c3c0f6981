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
	Name      string
	Roots     int
	Age       time.Duration // see Bundle.Age
	Sequence  uint64
	Failing   bool
	Since     time.Time // when that began; zero: it is not failing
	Rotations uint64    // how often its roots became others, since the source was started
	Expires   time.Time // the first of its roots to do so; zero: there are none
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
			of := b.figures(now)
			of.Rotations = w.rotations[b.Name]
			f.Bundles = append(f.Bundles, of)
		}
		out = append(out, f)
	}
	return out
}

func (b Bundle) figures(now time.Time) BundleFigures {
	f := BundleFigures{Name: b.Name, Roots: len(b.Roots), Age: b.Age(now), Sequence: b.Sequence, Failing: b.Problem != "", Since: b.Since}
	for _, r := range b.Roots {
		if f.Expires.IsZero() || r.NotAfter.Before(f.Expires) {
			f.Expires = r.NotAfter
		}
	}
	return f
}
