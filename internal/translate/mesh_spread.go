package translate

import (
	"fmt"
	"math"

	"gatehouse.dev/lbmodel"
)

// share is one pool of a backend that has several: so many of the endpoints are in
// it.
type share struct {
	pool string
	part int64 // usable ones
	all  int64
}

// appendShare joins shares of one pool.
func appendShare(list []share, s share) []share {
	for i := range list {
		if list[i].pool == s.pool {
			list[i].part, list[i].all = list[i].part+s.part, list[i].all+s.all
			return list
		}
	}
	return append(list, s)
}

// mainShare is the pool with the most endpoints: what cannot be shared out, as a
// mirrored request, goes there.
func mainShare(list []share) string {
	most := list[0]
	for _, s := range list[1:] {
		if s.part > most.part || s.part == most.part && s.all > most.all {
			most = s
		}
	}
	return most.pool
}

// addSpread names several pools as one, until spread puts them in its place.
func (t *translation) addSpread(list []share) string {
	usable := int64(0)
	for _, s := range list {
		usable += s.part
	}
	if usable == 0 { // any pool is as good as its size
		for i := range list {
			list[i].part = list[i].all
		}
	}
	if t.spreads == nil {
		t.spreads = map[string][]share{}
	}
	name := fmt.Sprintf("spread %d", len(t.spreads))
	t.spreads[name] = list
	return name
}

// spread puts the pools of backends that have several in their place. Each gets
// what its endpoints are of the backend's, and no other backend's share changes.
func (t *translation) spread(list []lbmodel.Backend) []lbmodel.Backend {
	if len(t.spreads) == 0 {
		return list
	}
	var out []lbmodel.Backend
	var shares []fraction
	for _, b := range list {
		parts := t.spreads[b.Pool]
		if parts == nil || b.Pool == "" {
			out, shares = append(out, b), append(shares, fraction{int64(b.Weight), 1})
			continue
		}
		all := int64(0)
		for _, s := range parts {
			all += s.part
		}
		for _, s := range parts {
			one := b
			one.Pool = s.pool
			out, shares = append(out, one), append(shares, fraction{int64(b.Weight) * s.part, all})
		}
	}
	if len(out) == len(list) {
		return list
	}
	for i, w := range wholeWeights(shares, t.mostWeight()) {
		out[i].Weight = w
	}
	return out
}

// mostWeight is the greatest weight that API and provider take.
func (t *translation) mostWeight() int64 {
	const api = 1_000_000
	if most := int64(t.abilities.Limits.MaxWeight); most > 0 {
		return min(most, api)
	}
	return api
}

// fraction is a weight before it is a whole number.
type fraction struct{ over, under int64 }

// maxCommon keeps the product of a weight, a number of endpoints and a common
// denominator within 64 bits.
const maxCommon = 1_000_000

// wholeWeights are whole numbers in the same proportion. Where these would be too
// great, they are as near as the limit allows, and none that was something is
// nothing.
func wholeWeights(list []fraction, most int64) []int32 {
	common := int64(1)
	for _, f := range list {
		if common = lcm(common, f.under); common > maxCommon {
			break
		}
	}
	exact := make([]int64, len(list))
	divisor, greatest := int64(0), int64(0)
	for i, f := range list {
		if common <= maxCommon {
			exact[i] = f.over * (common / f.under)
		}
		divisor, greatest = gcd(divisor, exact[i]), max(greatest, exact[i])
	}
	out := make([]int32, len(list))
	if common <= maxCommon && greatest/max(divisor, 1) <= most {
		for i := range exact {
			out[i] = int32(exact[i] / max(divisor, 1))
		}
		return out
	}
	return nearWeights(list, most)
}

func nearWeights(list []fraction, most int64) []int32 {
	greatest := 0.0
	for _, f := range list {
		greatest = max(greatest, float64(f.over)/float64(f.under))
	}
	out := make([]int32, len(list))
	for i, f := range list {
		if f.over > 0 {
			out[i] = int32(max(1, math.Round(float64(f.over)/float64(f.under)*float64(most)/greatest)))
		}
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }
