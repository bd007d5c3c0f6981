package meshsync_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
	. "gatehouse.dev/meshsync"
)

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

func randomInbound(rnd *rand.Rand) Inbound {
	in := Inbound{
		Membership: pick(rnd, Meshed, Meshed, Meshed, Meshed, NotMeshed, MembershipUnknown, Mixed, Membership("")),
		Account:    Account{Namespace: "shop", Name: pick(rnd, "a", "b")},
		SNI:        pick(rnd, "", "", "a.mesh", "b.mesh"), Port: pick(rnd, int32(0), 20000),
		Otherwise: pick(rnd, Resets, Passes), Plain: rnd.IntN(2) == 0, AnyClient: rnd.IntN(3) == 0,
		Blocked:    pick(rnd, "", ReasonPermissiveInbound, ReasonOpaquePort, ReasonTunnelRequired),
		MinVersion: pick(rnd, "", "1.2", "1.3"), ProxyHealth: rnd.IntN(2) == 0,
		Detail: pick(rnd, "", "x", "y"), Fix: pick(rnd, nil, &Fix{Say: "z"}),
		Health: pick(rnd, nil, &lbmodel.HealthCheck{Protocol: "HTTP", Port: 4191}),
	}
	for range rnd.IntN(4) {
		in.Names = append(in.Names, pick(rnd, spiffe("a"), spiffe("b"), dns("a.mesh"), dns("c.mesh"), spiffe("d")))
	}
	names := func() (out []string) {
		for range rnd.IntN(4) {
			out = append(out, pick(rnd, "h2", "http/1.1", "istio", "istio-h2", "kuma"))
		}
		return out
	}
	for range rnd.IntN(4) {
		in.Chains = append(in.Chains, Chain{Offer: names(), Selects: names(), HTTP: rnd.IntN(2) == 0})
	}
	return in
}

func randomHop(rnd *rand.Rand) Hop {
	return Hop{
		Protocol: pick(rnd, lbmodel.PoolHTTP1, lbmodel.PoolH2C, lbmodel.PoolHTTP2, lbmodel.PoolWebSocket, lbmodel.PoolGRPC, lbmodel.PoolTCP, lbmodel.PoolUDP),
		Minimum:  pick(rnd, "", lbmodel.TLSNone, lbmodel.TLSUnverified, lbmodel.TLSServerOnly, lbmodel.TLSClientAndServer),
		Selected: rnd.IntN(3) == 0, OwnTLS: rnd.IntN(5) == 0, Anonymous: rnd.IntN(5) == 0, Roots: rnd.IntN(4),
	}
}

func randomFeatures(rnd *rand.Rand) lbmodel.Features {
	out := pick(rnd, fakeLike, gcpLike, albLike)()
	for f := range out.Has {
		if rnd.IntN(12) == 0 {
			delete(out.Has, f)
		}
	}
	out.Limits.SANs, out.Limits.Roots = rnd.IntN(4), rnd.IntN(4)
	return out
}

// TestJudgeKeepsItsWord tries many cases at random: what is Direct is protected as
// was asked, can be programmed by the provider, and is taken by the proxy.
func TestJudgeKeepsItsWord(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(30_000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		in, h, has := randomInbound(rnd), randomHop(rnd), randomFeatures(rnd)
		v := Judge(in, h, has)
		if wrong := broken(in, h, has, v); wrong != "" {
			t.Fatalf("seed %d: %s\n in: %+v\nhop: %+v\nhas: %v\n is: %s %+v", seed, wrong, in, h, has, outcome(v), v.BackendTLS)
		}
		if !reflect.DeepEqual(v, Judge(in, h, has)) {
			t.Fatalf("seed %d: the same case, another verdict", seed)
		}
		seen[string(v.Path)+string(v.Reason)+string(v.TLS)]++
	}
	for _, kind := range []string{
		"DirectClientAndServer", "DirectServerOnly", "DirectUnverified", "DirectNone", "Direct", // the last is own TLS
		"BlockedNotMeshedNone", "BlockedBelowMinimumNone", "BlockedALPNUnsupportedNone", "BlockedTooManySANsNone", "BlockedTooManyRootsNone",
		"BlockedTLS13UnsupportedNone", "BlockedSNIUnsupportedNone", "BlockedSANUnsupportedNone", "BlockedDoubleTLSNone", "BlockedUnmeshedProtocolNone",
	} {
		if seen[kind] < 10 {
			t.Errorf("%s came up %d times: the property says little", kind, seen[kind])
		}
	}
}

// broken says which word a verdict breaks.
func broken(in Inbound, h Hop, has lbmodel.Features, v Verdict) string {
	if v.Path == Blocked {
		return brokenBlock(v)
	}
	clear := v.BackendTLS == nil && !v.OwnTLS
	switch {
	case v.Path != Direct || v.Reason != "":
		return "neither Direct nor Blocked"
	case clear != (v.TLS == lbmodel.TLSNone):
		return "the level is not what is programmed"
	case h.Selected && v.TLS != lbmodel.TLSClientAndServer:
		return "selected, and not mutual TLS"
	case !v.OwnTLS && !v.TLS.AtLeast(h.Minimum):
		return "weaker than the minimum"
	case clear && in.Membership == Meshed && !in.Plain && h.Protocol != lbmodel.PoolUDP:
		return "clear text that the proxy does not let through"
	case v.OwnTLS && !h.OwnTLS:
		return "TLS of an application that has none"
	case v.OwnTLS && in.Membership == Meshed && in.Otherwise != Passes:
		return "the application's TLS does not get through"
	case v.BackendTLS != nil && h.OwnTLS:
		return "TLS inside TLS"
	case v.BackendTLS == nil:
		return ""
	}
	return brokenTLS(in, h, has, v)
}

func brokenBlock(v Verdict) string {
	switch {
	case v.Reason == "" || v.Detail == "" || v.Fix == nil || v.Fix.Say == "":
		return "blocked without a reason, a word or a way out"
	case v.BackendTLS != nil || v.TLS != lbmodel.TLSNone || v.OwnTLS:
		return "blocked, with something to program"
	default:
		return ""
	}
}

// brokenTLS asks the model what the provider needs, and the proxy what it does.
func brokenTLS(in Inbound, h Hop, has lbmodel.Features, v Verdict) string {
	tls := *v.BackendTLS
	if v.TLS.AtLeast(lbmodel.TLSServerOnly) {
		tls.Trust = "mesh"
		if tls.SNI == "" && len(tls.SANs) == 0 {
			return "verified by roots alone"
		}
		if h.Roots > has.Limits.Roots && has.Limits.Roots > 0 || len(tls.SANs) > has.Limits.SANs && has.Limits.SANs > 0 {
			return "more than the provider takes"
		}
	}
	if v.TLS == lbmodel.TLSClientAndServer {
		tls.Identity = "mesh"
	}
	pool := lbmodel.Pool{Protocol: v.Protocol, TLS: &tls}
	for _, f := range lbmodel.Uses(lbmodel.Gateway{Pools: []lbmodel.Pool{pool}}) {
		// Whether it speaks WebSocket has nothing to do with the mesh.
		if !has.Offers(f) && f != lbmodel.FeatureWebSocket && f != lbmodel.FeatureBackendTLSPerBackend {
			return "Direct without " + string(f)
		}
	}
	switch {
	case tls.Level() != v.TLS || tls.Floor != "" && !v.TLS.AtLeast(tls.Floor):
		return "the level is not what is programmed"
	case h.Anonymous && tls.Identity != "":
		return "a certificate of a gateway that has none"
	case !in.AnyClient && tls.Identity == "":
		return "no certificate for a proxy that wants one"
	case tls.SNI != in.SNI:
		return "another server name than the proxy ends TLS for"
	}
	return brokenTalk(in, h, v)
}

// brokenTalk plays client and proxy.
func brokenTalk(in Inbound, h Hop, v Verdict) string {
	http2 := v.Protocol == lbmodel.PoolHTTP2 || v.Protocol == lbmodel.PoolGRPC
	sends := [][]string{v.BackendTLS.ALPN}
	switch {
	case v.BackendTLS.ALPN == nil && v.BackendTLS.NoALPN:
	case v.BackendTLS.ALPN == nil && http2:
		sends = [][]string{{"h2"}}
	case v.BackendTLS.ALPN == nil:
		sends = [][]string{{"http/1.1"}, nil}
	}
	for _, sent := range sends {
		var chain *Chain
		for i := range in.Chains {
			if c := &in.Chains[i]; chain == nil && (len(c.Offer) == 0 || overlap(c.Offer, sent) != "") {
				chain = c
			}
		}
		if chain == nil {
			return "no chain ends this TLS"
		}
		got := overlap(chain.Selects, sent)
		switch {
		case http2 && got != "h2" && (got != "" || slices.Contains(sent, "h2")):
			return "HTTP/2 that was not negotiated"
		case !http2 && got != "" && got != "http/1.1":
			return "negotiated what is not spoken: " + got
		case !chain.HTTP && http2 && h.Protocol == lbmodel.PoolHTTP2:
			return "HTTP/2 to an application that did not ask for it"
		case !chain.HTTP && h.Protocol != lbmodel.PoolTCP && !slices.Contains(v.Losses, LossL7Policy):
			return "unread, and not said"
		}
	}
	if lost := h.Protocol == lbmodel.PoolHTTP2 && !http2; lost != slices.Contains(v.Losses, LossHTTP2) {
		return "HTTP/1.1 for HTTP/2, and not said"
	}
	return ""
}

// overlap is the first of a that is in b.
func overlap(a, b []string) string {
	for _, name := range a {
		if slices.Contains(b, name) {
			return name
		}
	}
	return ""
}

// TestNeighbours: whether two pods are one group does not hang on which one comes
// after which. Each field of one is changed to another's in turn.
func TestNeighbours(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	key := func(in Inbound) string { return Groups([]Placed{{"a", in}})[0].Key }
	for range 2000 {
		a, other := randomInbound(rnd), randomInbound(rnd)
		for field := range reflect.TypeFor[Inbound]().NumField() {
			b := a
			reflect.ValueOf(&b).Elem().Field(field).Set(reflect.ValueOf(other).Field(field))
			if one, same := len(Groups([]Placed{{"a", a}, {"b", b}})) == 1, key(a) == key(b); one != same {
				t.Fatalf("field %s: one group: %v, one key: %v\n%+v\n%+v", reflect.TypeFor[Inbound]().Field(field).Name, one, same, a, b)
			}
		}
	}
}
