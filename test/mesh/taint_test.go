package mesh

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// withAgent is SPIRE's mesh with an agent that has the gateway's certificate, and
// whoever follows it.
func withAgent(t *testing.T) (o *outside, id string) {
	t.Helper()
	w := newWorld(t, spireMesh(), options{})
	account := meshsync.AccountOf(lbmodel.Owner{Kind: translate.KindGateway, Namespace: "edge", Name: "shop"}, "outside", "gatehouse-system")
	path := "/ns/" + account.Namespace + "/sa/" + account.Name
	var err error
	w.issuers.agent, err = spiffe.StartAgent(spiffe.AgentConfig{CA: w.ca, Entries: []spiffe.Entry{{Path: "/manager"}, {Path: path}}, Life: time.Hour, Socket: filepath.Join(t.TempDir(), "s")})
	w.do(err)
	o = &outside{world: w}
	w.outside = o
	t.Cleanup(func() {
		o.end()
		w.do(w.issuers.agent.Close())
	})
	w.options.identity = fmt.Sprintf(", socket: %q", w.issuers.agent.Addr())
	w.put("binding", w.bindingYAML())
	for i := range *podsFor {
		w.start(fmt.Sprint("cart-", i), w.mesh.member)
	}
	w.settle()
	return o, "spiffe://" + spireDomain + path
}

// renews has the agent renew, and waits until it is known what it has.
func (o *outside) renews(id string) func(*world) {
	return func(w *world) {
		w.Helper()
		w.do(w.issuers.agent.Rotate())
		signer := fmt.Sprintf("%x", w.ca.SigningRoot().SubjectKeyId)
		o.await("the agent's certificate", func() bool {
			h, is := w.stack.Loop.Index().Object(translate.HeldKey(w.issuers.agent.Addr(), id)).(*translate.Held)
			return is && h.Authority == signer
		})
	}
}

// TestTaint: a tainted root is in the bundle still, and the gateway moves with the
// workloads, at once and once, before it is revoked; an ordinary renewal of the agent,
// and another process, change nothing.
func TestTaint(t *testing.T) {
	t.Parallel()
	o, id := withAgent(t)
	r := o.under([]step{
		{name: "the agent renews", do: o.renews(id)},
		{name: "prepare B", do: all(addB, publish, trusting), want: trustOnce},
		{name: "ten minutes later", do: later(10 * time.Minute)},
		{name: "activate B", do: signB},
		{name: "taint A: the agents renew", do: all(o.renews(id), renewing), want: certificateOnce},
		{name: "another process", do: func(w *world) { w.stack = w.open(w.first) }},
		{name: "the agent renews again", do: o.renews(id)},
		{name: "revoke A", do: all(dropA, publish, trusting), want: trustOnce},
		{name: "when the certificate is due", do: all(later(41*time.Minute), o.renews(id)), want: certificateOnce},
		{name: "an hour after", do: later(21 * time.Minute), want: trustOnce},
	})
	r.check()
}

// TestTaintTooSoon: a certificate of a root that not everybody can know waits, as any
// other. Certificates tell apart which is newer by the second.
func TestTaintTooSoon(t *testing.T) {
	t.Parallel()
	o, id := withAgent(t)
	r := o.under([]step{
		{name: "prepare B", do: all(addB, publish, trusting, later(2*time.Second)), want: trustOnce},
		{name: "activate B, taint A", do: all(signB, o.renews(id)), held: true},
		{name: "five minutes later", do: later(5*time.Minute + time.Second), want: certificateOnce},
	})
	r.check()
}
