package mesh

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/meshsync/roots"
)

// outside is a SPIFFE bundle endpoint where the roots of a mesh are published, and
// nowhere else, with whoever reads it in the process that works now.
type outside struct {
	*world
	endpoint *spiffe.Endpoint
	sync     *rootsync.Sync
	members  *member.Members
	end      func()
	kept     []byte // what the process before wrote down
}

// newOutside has a mesh's roots at a bundle endpoint.
func newOutside(t *testing.T) *outside {
	t.Helper()
	w := newWorld(t, istioMesh(), options{})
	web, err := ca.New(ca.Config{Now: w.clock.now})
	w.do(err)
	o := &outside{world: w}
	o.endpoint, err = spiffe.StartEndpoint(spiffe.EndpointConfig{CA: w.ca, Web: web, TrustDomain: "cluster.local", RefreshHint: 5 * time.Minute})
	w.do(err)
	t.Cleanup(func() {
		o.end()
		w.do(o.endpoint.Close())
	})
	w.options.binding = fmt.Sprintf("  trustBundles: [{kind: SPIFFEBundle, name: cluster.local, url: %q, serverRoots: %q}]\n", o.endpoint.URL(), web.Bundle())
	w.put("binding", w.bindingYAML())
	w.outside = o
	for i := range *podsFor {
		w.start(fmt.Sprint("cart-", i), w.mesh.member)
	}
	w.pass()
	o.await("the first roots", o.published)
	w.settle()
	return o
}

// opened is what reads for a process that starts, and knows what the one before wrote
// down.
func (o *outside) opened(members *member.Members) *rootsync.Sync {
	if o == nil {
		return nil
	}
	if o.end != nil {
		o.end()
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.sync, o.members = rootsync.New(rootsync.Config{Clock: roots.Clock{Now: o.clock.now, After: o.after(ctx)}}), members
	if o.kept != nil {
		memory, err := rootsync.Decode(o.kept, "test", o.clock.now())
		o.do(err)
		o.members.Recall(memory.Bindings)
		o.sync.Recall(memory.Bundles)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.sync.Run(ctx)
	}()
	o.end = func() {
		cancel()
		<-ended
		o.sync.Close()
	}
	return o.sync
}

// after waits by the world's clock, which nothing tells of.
func (o *outside) after(ctx context.Context) func(time.Duration) <-chan time.Time {
	return func(d time.Duration) <-chan time.Time {
		fire, at := make(chan time.Time, 1), o.clock.now().Add(d)
		go func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for o.clock.now().Before(at) {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
			fire <- at
		}()
		return fire
	}
}

// await follows what is read until it is as wanted.
func (o *outside) await(what string, ok func() bool) {
	o.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		o.stack.Fetched()
		switch {
		case ok():
			return
		case time.Now().After(deadline):
			o.Fatalf("waiting for %s: %+v", what, o.sync.Figures())
		}
		select {
		case <-o.sync.Changed():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// published says whether what is trusted is what the endpoint publishes.
func (o *outside) published() bool {
	b, _ := o.stack.Loop.Index().Bound("mesh")
	f := o.sync.Figures()
	return len(f) == 1 && !f[0].Failing && len(b.Trust.Roots) == len(o.ca.Roots()) && len(b.Problems) == 0
}

// restart has another process take over, which has what this one wrote down.
func (o *outside) restart(*world) {
	o.Helper()
	var err error
	o.kept, _, err = rootsync.Encode(rootsync.Memory{Bindings: o.members.Remember(), Bundles: o.sync.Remember()}, "test", o.clock.now())
	o.do(err)
	_, _ = o.said.Write(o.kept)
	o.stack = o.open(o.first)
}

// reads lets the endpoint be read again.
func (o *outside) reads(*world) {
	o.Helper()
	o.clock.pass(6 * time.Minute)
	o.await("what is published", o.published)
}

// TestOutside rotates a CA whose roots only a bundle endpoint publishes, under load: a
// restart in the middle costs nothing, neither a change, nor a certificate, nor another
// half a day of waiting; and the endpoint may be away for a day.
func TestOutside(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	down := func(*world) {
		o.endpoint.Break(spiffe.Overload, 0)
		o.clock.pass(6 * time.Minute)
		o.await("an attempt that fails", func() bool { return o.sync.Figures()[0].Failing })
	}
	r := o.under([]step{
		{name: "add B", do: all(addB, o.reads, trusting), want: trustOnce},
		{name: "seven hours later", do: later(7 * time.Hour)},
		{name: "a restart", do: o.restart},
		{name: "seven hours later", do: later(7 * time.Hour)},
		{name: "B signs", do: signB},
		{name: "when the certificate is due", do: later(3 * time.Hour), want: certificateOnce},
		{name: "the endpoint is down", do: down},
		{name: "for half a day", do: later(12 * time.Hour)},
		{name: "a restart meanwhile", do: o.restart},
		{name: "when the certificate is due again", do: later(5 * time.Hour), want: certificateOnce},
		{name: "for a day", do: all(later(8*time.Hour), func(*world) {
			o.await("somebody to be told", func() bool {
				b, _ := o.stack.Loop.Index().Bound("mesh")
				return len(b.Problems) > 0
			})
		})},
	})
	r.check()
	if r.issued != 2 {
		t.Errorf("%d certificates were issued, want the two that were due: a restart needs none", r.issued)
	}
	o.expect("Gateway", meshMember, "False/TrustStale", "could not be read since 20", "status 503")
	o.expect(translate.KindMeshBinding, "ResolvedRefs", "False/RootsUnreadable", "could not be read since 20")
	r = o.under([]step{
		{name: "the endpoint is back", do: all(func(*world) { o.endpoint.Break("", 0) }, o.reads)},
		{name: "A is dropped", do: all(dropA, trusting, o.reads), want: trustOnce},
		{name: "16 hours later", do: all(later(10*time.Hour), o.reads), want: certificateOnce}, // on schedule
		{name: "a day after", do: all(later(15*time.Hour), o.reads), want: trustOnce},
	})
	r.check()
	o.expect("Gateway", meshMember, "True/Joined")
	o.expect(translate.KindMeshBinding, "ResolvedRefs", "True/ResolvedRefs")
	if gateway, _ := o.byRoot(r.root); gateway["b"] == 0 {
		t.Errorf("no handshake under the new root: %v", gateway)
	}
}

// TestForgotten: who has lost what was written down waits anew before a certificate of
// the new authority goes live, and changes nothing else.
func TestForgotten(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	r := o.under([]step{
		{name: "add B", do: all(addB, o.reads, trusting), want: trustOnce},
		{name: "eleven hours later", do: later(11 * time.Hour)},
		{name: "another process, that knows nothing", do: func(*world) {
			o.stack = o.open(o.first)
			o.await("the roots", o.published)
		}},
		{name: "B signs", do: signB},
		{name: "when the certificate is due", do: later(6 * time.Hour), held: true},
		{name: "when proxies had the time", do: later(6*time.Hour + 16*time.Minute), want: certificateOnce},
	})
	r.check()
	if strings.Contains(fmt.Sprint(r.mutations), "CreateTrust") {
		t.Errorf("the roots were made anew: %v", r.mutations)
	}
}

// TestUnreadableRoots: a ConfigMap that somebody broke ends nobody's certificate. Those
// that are renewed meanwhile are verified by the roots that were there before.
func TestUnreadableRoots(t *testing.T) {
	t.Parallel()
	w := withPods(t, istioMesh(), options{})
	r := w.under([]step{
		{name: "the ConfigMap is broken", do: func(w *world) { w.bundle = []byte("junk\n") }},
		{name: "when the certificate is due", do: later(17 * time.Hour), want: certificateOnce},
		{name: "for a day", do: later(8 * time.Hour)},
	})
	r.check()
	w.expect("Gateway", meshMember, "False/TrustStale", "ConfigMap istio-system/istio-ca-root-cert")
	r = w.under([]step{{name: "it is repaired", do: publish}})
	r.check()
	w.expect("Gateway", meshMember, "True/Joined")
}
