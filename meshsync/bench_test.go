package meshsync_test

import (
	"fmt"
	"testing"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

// services are 500 with ten pods each, of all meshes, every third in a rollout.
func services() [][]Placed {
	kinds := []func() Inbound{istioStrictHTTP, istioStrictAuto, istioPermissiveHTTP, linkerd, kumaStrict, func() Inbound { return consul("http/1.1") }, ambient, notMeshed}
	out := make([][]Placed, 500)
	for i := range out {
		for pod := range 10 {
			in := kinds[i%len(kinds)]()
			switch {
			case i%3 == 0 && pod > 4:
				in = notMeshed()
			case in.SNI == "" && pod%2 == 1:
				in = as(fmt.Sprint("account-", i), in)
			}
			out[i] = append(out[i], Placed{Pod: fmt.Sprintf("pod-%d-%d", i, pod), Inbound: in})
		}
	}
	return out
}

func verdicts(pods []Placed, h Hop, has lbmodel.Features) int {
	n := 0
	for _, g := range Groups(pods) {
		if Judge(g.Inbound, h, has).Path == Direct {
			n++
		}
	}
	return n
}

// BenchmarkVerdicts is the whole of 5,000 pods, and what one changed pod costs.
func BenchmarkVerdicts(b *testing.B) {
	all, h, has := services(), hop(lbmodel.PoolHTTP1), fakeLike()
	b.Run("5000pods", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, pods := range all {
				n += verdicts(pods, h, has)
			}
			if n == 0 {
				b.Fatal("nothing is Direct")
			}
		}
	})
	b.Run("1pod", func(b *testing.B) {
		for b.Loop() {
			verdicts(all[0], h, has)
		}
	})
}
