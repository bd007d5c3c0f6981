package issue

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// agent holds what it is told.
type agent struct {
	*world
	pair tls.Certificate
	err  error
}

func (a agent) Hold(context.Context, meshsync.Request) (tls.Certificate, error) { return a.pair, a.err }

// TestHolder: what somebody else made a key for is verified like our own.
func TestHolder(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	issued := func(kind ca.KeyType, uri string) tls.Certificate {
		pair, err := w.ca.Issue(ca.Request{URIs: []string{uri}, Key: kind})
		w.do(err)
		return pair
	}
	good := issued(ca.ECDSA, id.SPIFFEID)
	for _, tc := range []struct {
		name, why string
		agent     agent
		want      lbmodel.Code
	}{
		{name: "good", why: "ours by name and key", agent: agent{pair: good}},
		{name: "RSA", why: "no other keys are used", agent: agent{pair: issued(ca.RSA, id.SPIFFEID)}, want: lbmodel.CodeUnsupported},
		{name: "no key", why: "nothing to show", agent: agent{pair: tls.Certificate{Certificate: good.Certificate}}, want: lbmodel.CodeUnsupported},
		{name: "another name", why: "it would be somebody else", agent: agent{pair: issued(ca.ECDSA, id.SPIFFEID+"2")}, want: lbmodel.CodeDenied},
		{name: "another's key", why: "it could not be shown", want: lbmodel.CodeDenied,
			agent: agent{pair: tls.Certificate{PrivateKey: good.PrivateKey, Certificate: issued(ca.ECDSA, id.SPIFFEID).Certificate}}},
		{name: "garbage", why: "an agent that breaks its law", agent: agent{pair: tls.Certificate{PrivateKey: good.PrivateKey, Certificate: [][]byte{{1}}}}, want: lbmodel.CodeDenied},
		{name: "failing", why: "its word is kept", agent: agent{err: errors.New("no")}, want: lbmodel.CodeUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.agent.world = w
			w.start(nil)
			w.ring.config.Issuers = func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
				return tc.agent, meshsync.Account{}, nil
			}
			if tc.want == lbmodel.CodeOK {
				w.get(id)
			} else {
				w.refused(id, tc.want)
			}
			if w.calls() != 0 {
				t.Errorf("it was asked to sign: %s", tc.why)
			}
		})
	}
}

// TestHolderMovesOn: a certificate that was taken and never shown is not kept when its
// agent has left the authority.
func TestHolderMovesOn(t *testing.T) {
	w := newWorld(t)
	id := identity("g")
	issued := func() tls.Certificate {
		pair, err := w.ca.Issue(ca.Request{URIs: []string{id.SPIFFEID}, Key: ca.ECDSA})
		w.do(err)
		return pair
	}
	held := &agent{world: w, pair: issued()}
	w.ring.config.Issuers = func(lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
		return held, meshsync.Account{}, nil
	}
	first := w.get(id)
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	w.pass(time.Minute)
	held.pair = issued()
	if again := w.get(id); !again.Leaf.Equal(first.Leaf) {
		t.Error("nobody has said that it is another, and it is not the same")
	}
	now := leafOf(held.pair)
	id.Renew.Held = &lbmodel.Held{Authority: now.Authority, NotBefore: now.NotBefore}
	if got := w.get(id); !got.Leaf.Equal(held.pair.Leaf) {
		t.Errorf("got one of authority %s, want that of %s", leafOf(got).Authority, now.Authority)
	}
}
