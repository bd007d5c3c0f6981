package gcp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/providertest"
)

const meshGateway = "testdata/global-mesh-mtls/gateway.yaml"

// projects are one as documented, one that takes as long as Google's do, and one that is
// otherwise where Google says nothing.
func projects() []gcpapi.Config {
	return []gcpapi.Config{{}, {Times: gcpapi.Lifelike()}, {Undocumented: gcpapi.Undocumented{LateErrors: true, EarlyReads: true, LoosePatches: true}}}
}

// Why: every kind of resource must be read as it is written, or each plan would do it
// again; and it must go.
func TestEveryKindLivesAndGoes(t *testing.T) {
	for i, project := range projects() {
		for _, path := range goldens(t) {
			if strings.Contains(path, "firewall-report") {
				continue // nothing is made there that others don't have, and rules are the operator's
			}
			t.Run(fmt.Sprint(filepath.Base(filepath.Dir(path)), " ", i), func(t *testing.T) {
				s := newShop(t, project)
				empty, gw := s.Server.Dump(), s.live(path)
				s.account.Want(gw)
				s.converge(gw.Owner)
				if made := len(s.account.Observed(gw.Owner)); made < 5 {
					t.Fatalf("%d resources were made", made)
				}
				if issued := s.vault.issued; issued > 1 {
					t.Errorf("%d certificates were issued for one identity", issued)
				}
				s.quiet("the next plan", gw.Owner)
				s.clock.Advance(10 * time.Minute)
				s.restart()
				s.account.Want(gw)
				s.quiet("after a restart", gw.Owner)
				s.gone(gw.Owner, empty)
			})
		}
	}
}

// Why: a process may end at any call, before it or before its reply, when a gateway with
// mutual TLS is made, changed or deleted. Another goes on, nothing is doubled and nothing
// stays.
func TestMeshGatewayIsKilled(t *testing.T) {
	step, n := max(1, *every/32), 0
	for killedAt(t, n) && !t.Failed() {
		n += step
	}
	if n < 40 {
		t.Errorf("it takes only %d calls to make, change or delete it", n)
	}
}

// killedAt ends processes at the n-th call of making, changing and deleting the gateway.
// It says whether any came that far.
func killedAt(t *testing.T, n int) (reached bool) {
	t.Helper()
	for i, how := range []providertest.FaultKind{providertest.Refuse, providertest.LoseReply} {
		s := newShop(t, projects()[(n+i)%3])
		empty, gw := s.Server.Dump(), s.live(meshGateway)
		reached = s.die(n, how, func() { s.account.Want(gw) }, gw.Owner) || reached
		s.account.Want(gw)
		s.converge(gw.Owner)
		s.quiet(fmt.Sprintf("after a process ended at call %d of making it", n), gw.Owner)
		next := changed(s, gw)
		reached = s.die(n, how, func() { s.account.Want(next) }, gw.Owner) || reached
		s.account.Want(next)
		s.converge(gw.Owner)
		s.quiet(fmt.Sprintf("after a process ended at call %d of changing it", n), gw.Owner)
		reached = s.die(n, how, func() { s.account.Drop(gw.Owner) }, gw.Owner) || reached
		s.gone(gw.Owner, empty)
		if t.Failed() {
			t.Logf("call %d, fault %d", n, how)
			return false
		}
	}
	return reached
}

// changed is the gateway with other roots, another certificate, another rule, and a
// backend that is not verified any more.
func changed(s *shop, gw lbmodel.Gateway) lbmodel.Gateway {
	gw.Identities, gw.Trust, gw.Listeners, gw.Pools = slices.Clone(gw.Identities), slices.Clone(gw.Trust), slices.Clone(gw.Listeners), slices.Clone(gw.Pools)
	gw.Identities[0].Leaf = leafIn(s.vault.pair("shop.test", "www.shop.test"))
	gw.Trust[0].Roots = sorted(append(slices.Clone(gw.Trust[0].Roots), s.vault.root("two")))
	gw.Listeners[0].Rules = slices.Clone(gw.Listeners[0].Rules)
	gw.Listeners[0].Rules[0].Action.Forward = &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "b", Weight: 1}}}
	tls := *gw.Pools[1].TLS
	tls.SNI, tls.SANs = "", []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: "spiffe://cluster.local/ns/apps/sa/other"}}
	gw.Pools[1].TLS = &tls
	return gw
}

func sorted(roots []lbmodel.Root) []lbmodel.Root {
	slices.SortFunc(roots, func(a, b lbmodel.Root) int { return strings.Compare(a.SHA256, b.SHA256) })
	return roots
}

// Why: each call may go wrong in each way, and what was begun is finished.
func TestEveryFaultAtACall(t *testing.T) {
	faults := []gcpapi.Fault{
		{Kind: gcpapi.Refuse}, {Kind: gcpapi.Throttle}, {Kind: gcpapi.CutBefore}, {Kind: gcpapi.CutAfter}, {Kind: gcpapi.Stale},
		{Kind: gcpapi.Fail}, {Kind: gcpapi.Fail, Status: 403, Reason: "quotaExceeded"}, {Kind: gcpapi.NotReady, Window: 30 * time.Second},
		{Kind: gcpapi.Refuse, Status: 412, Reason: "conditionNotMet"}, {Kind: gcpapi.Refuse, Status: 400, Reason: "resourceNotReady"},
	}
	step := max(1, *every/6)
	for i, fault := range faults {
		t.Run(fmt.Sprint(fault.Kind, " ", fault.Reason), func(t *testing.T) {
			for n := i % step; n < 90 && !t.Failed(); n += step {
				s := newShop(t, projects()[(n+i)%3])
				empty, gw := s.Server.Dump(), s.live(meshGateway)
				fault.Skip, fault.Times = n, 1
				s.spoilt = []gcpapi.Fault{fault}
				s.SetFaults(fault)
				s.account.Want(gw)
				s.converge(gw.Owner)
				s.spoilt = nil
				s.quiet(fmt.Sprintf("after a fault at call %d", n), gw.Owner)
				s.gone(gw.Owner, empty)
			}
		})
	}
}
