package member

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/probe"
)

type certificate = tls.Certificate

const (
	proveAgain  = 30 * time.Second // when a certificate that was not taken is tried again
	proveMargin = 15 * time.Minute // before the end of the live one, when there is nothing to lose
	proveMost   = 16               // pods that a new certificate is shown to
)

// prove shows a certificate that was just issued to the pods that it is for, where
// their binding wants that (spec.probe.mode: Gate), before anybody else gets it. One
// that is refused is held, and the live one stays, until it ends: an error of code
// Pending. The key goes nowhere but into those handshakes.
func (m *Members) prove(ctx context.Context, id lbmodel.Identity, pair certificate) error {
	name, _ := bindingOf(id.Issuer)
	if id.Leaf != nil || m.modeOf(name) != v1alpha1.ProbeGate {
		return nil
	}
	g, _, err := m.gateway(id)
	if err != nil {
		return err
	}
	live, had := (*m.loop.Load()).Leaves(g)[id.Name]
	if had && m.config.Clock().After(lastMoment(live)) {
		return nil
	}
	t := &trial{m: m, pair: pair}
	t.show(ctx, g.Key.String(), slices.DeleteFunc(m.asks(g), func(a probe.Ask) bool {
		return a.Hop.Identity == nil || a.Hop.Identity.Name != id.Name || len(a.Hop.Roots) == 0
	}))
	if bad := t.verdict(had); bad != "" {
		e := lbmodel.Errorf(lbmodel.CodePending, "Issue", lbmodel.ID{Kind: "Identity", Name: id.Name}, "ProbeFailed: the new certificate is held: %s", bad)
		e.RetryAfter, e.Elsewhere = proveAgain, true
		return e
	}
	return nil
}

// lastMoment is when a live certificate is so near its end that there is nothing to lose.
func lastMoment(live lbmodel.Leaf) time.Time {
	margin := proveMargin
	if !live.NotBefore.IsZero() {
		margin = min(margin, live.NotAfter.Sub(live.NotBefore)/3)
	}
	return live.NotAfter.Add(-margin)
}

// trial is the work of showing one certificate.
type trial struct {
	m    *Members
	pair certificate

	mu      sync.Mutex
	passed  int
	refused string // the first by name and address of those that took the live one
	other   string // the first of other failures
}

// show dials a few pods of each group.
func (t *trial) show(ctx context.Context, asker string, asks []probe.Ask) {
	before := t.m.Probes.Sights(asker)
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	n := 0
	for _, a := range asks {
		for i, e := range usable(a.Endpoints) {
			if i >= t.m.config.Pace.Sample || n >= proveMost {
				break
			}
			n++
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				t.dial(ctx, a, net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))), before[a.Name])
			})
		}
	}
	all.Wait()
}

const atOnce = 8

func usable(all []lbmodel.Endpoint) []lbmodel.Endpoint {
	return slices.DeleteFunc(slices.Clone(all), func(e lbmodel.Endpoint) bool { return e.Address == "" || !e.Usable() })
}

func (t *trial) dial(ctx context.Context, a probe.Ask, address string, before probe.Sight) {
	target := probe.Target{Protocol: a.Hop.Protocol, TLS: a.Hop.TLS, Roots: a.Hop.Roots, Certificate: &t.pair, Now: t.m.config.Clock}
	r := probe.Dial(ctx, target, t.m.config.Dialled(address))
	t.m.config.Probed(a.Hop.TLS.Source.Name, r.Outcome)
	text := fmt.Sprintf("pods of %s: %s", about(a.Name), r.Text())
	already := slices.ContainsFunc(before.Failed, func(was probe.Result) bool {
		return was.Address == address && was.Outcome == probe.ClientCertificate
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case r.Outcome == probe.OK:
		t.passed++
	case r.Outcome == probe.ClientCertificate && !already:
		t.refused = least(t.refused, text)
	default:
		t.other = least(t.other, text)
	}
}

// least keeps what is told the same, whichever answer comes first.
func least(a, b string) string {
	if a == "" || b < a {
		return b
	}
	return a
}

// verdict is why the certificate is held; "" is that it is not. Nothing that works may
// break; and what is new must work for somebody, where there is somebody.
func (t *trial) verdict(had bool) string {
	switch {
	case had && t.refused != "":
		return t.refused
	case t.passed > 0:
		return ""
	case t.refused != "":
		return t.refused
	default:
		return t.other
	}
}
