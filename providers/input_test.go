package providers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// sayer is a provider whose cloud says that a certificate was taken, and keeps the old
// one.
type sayer struct {
	providers.Provider
	says bool
}

func (s *sayer) Apply(ctx context.Context, owner lbmodel.Owner, step lbmodel.Step, resolve providers.Resolve) (lbmodel.Resource, error) {
	if s.says && step.ID.Kind == "Identity" {
		r := step.Have
		r.Spec, r.Digest = step.Want, lbmodel.DigestOf(step.Want)
		return r, nil
	}
	return s.Provider.Apply(ctx, owner, step, resolve)
}

// TestInput19 is kube-lego #188, cert-manager #916 and others: a renewed Secret never
// reached the load balancer, and every call had succeeded. What is there is read again
// and compared by fingerprint, so that a success which was none is found and repeated.
func TestInput19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var liar *sayer
		h := newHouse(t, func(c *providers.Config) {
			liar = &sayer{Provider: c.Provider}
			c.Provider = liar
		})
		kept := func(leaf string) lbmodel.Gateway {
			return gateway("a", func(gw *lbmodel.Gateway) {
				gw.Identities[0].Issuer, gw.Identities[0].Leaf = lbmodel.IssuerSecret, &lbmodel.Leaf{SHA256: leaf}
			})
		}
		h.build(kept("old"))
		scan, err := h.account.Drift(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		liar.says = true
		h.build(kept("new"))
		liar.says = false
		h.expectNothing(kept("new")) // so far the word of the cloud is all there is
		time.Sleep(time.Until(scan.Next))
		if scan, err = h.account.Drift(t.Context()); err != nil || len(scan.Changed) != 1 {
			t.Fatalf("a scan finds %+v, %v; want that the certificate is not there", scan, err)
		}
		plan := h.plan(kept("new"))
		if steps := stepsOf(plan); len(steps) != 1 || steps[0] != "UpdateIdentity" {
			t.Fatalf("the plan has %v, want the certificate again", steps)
		}
		h.mustApply(plan)
		h.restart(nil)
		h.expectNothing(kept("new"))
	})
}
