package account

import "time"

// Bucket is a token bucket's size.
type Bucket struct {
	Capacity float64 // tokens
	Refill   float64 // tokens a second
}

// Meter holds the account's token buckets. They start full.
type Meter struct {
	sizes map[string]Bucket
	fill  map[string]level
}

type level struct {
	tokens float64
	at     time.Time
}

// NewMeter fills the buckets.
func NewMeter(sizes map[string]Bucket) *Meter {
	return &Meter{sizes: sizes, fill: map[string]level{}}
}

// Take takes a token out of every bucket named, or, if one is empty, out of none,
// and says so. A bucket that was never sized is bottomless.
func (m *Meter) Take(now time.Time, names ...string) bool {
	for _, name := range names {
		size, limited := m.sizes[name]
		// A whole token, give or take the error of adding fractions up.
		if limited && m.tokens(now, name, size) < 1-1e-9 {
			return false
		}
	}
	for _, name := range names {
		if size, limited := m.sizes[name]; limited {
			m.fill[name] = level{m.tokens(now, name, size) - 1, now}
		}
	}
	return true
}

// Tokens is how many tokens a bucket holds.
func (m *Meter) Tokens(now time.Time, name string) float64 {
	return m.tokens(now, name, m.sizes[name])
}

func (m *Meter) tokens(now time.Time, name string, size Bucket) float64 {
	was, ok := m.fill[name]
	if !ok {
		return size.Capacity
	}
	return min(size.Capacity, was.tokens+now.Sub(was.at).Seconds()*size.Refill)
}

// Drain empties a bucket, as other users of the account would.
func (m *Meter) Drain(now time.Time, name string) { m.fill[name] = level{0, now} }
