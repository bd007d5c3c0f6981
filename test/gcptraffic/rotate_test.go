package gcptraffic

import (
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/lbmodel"
)

const (
	trustPatch       = "certificatemanager.projects.locations.trustConfigs.patch"
	certificatePatch = "certificatemanager.projects.locations.certificates.patch"
)

// writes brings the gateway, and expects calls that change something and no others.
func (x *meshed) writes(what string, want map[string]int) {
	x.Helper()
	x.live.Forget()
	x.bring(x.gw)
	if diff := cmp.Diff(want, x.live.Count(gcpapi.Writes)); diff != "" {
		x.Errorf("%s: calls (-want +got):\n%s", what, diff)
	}
}

// renew gives every pod a certificate of whoever signs now.
func (x *meshed) renew() {
	x.Helper()
	for _, p := range x.pods {
		leaf, err := x.ca.Issue(x.mesh.pods)
		x.do(err)
		p.Renew(leaf)
	}
}

// accept has every pod take the clients of the mesh's roots.
func (x *meshed) accept() {
	for _, p := range x.pods {
		p.Trust(x.ca.Roots())
	}
}

// authorities are whose certificates the gateway showed to pods.
func (x *meshed) authorities() []string {
	out := map[string]bool{}
	for _, p := range x.pods {
		for _, c := range p.Seen().Last {
			if c.Outcome == inbound.Terminated {
				out[c.Authority] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// Why: a mesh changes its CA, and its clients' certificates with it, and nobody who asks
// for a page notices. It costs what was promised: a change of roots to add one, one to
// drop the other, one of the certificate, and nothing of load balancers.
func TestRotation(t *testing.T) {
	for _, c := range []struct {
		name, flavour string
		mesh          mesh
	}{
		{"Istio", "RegionalExternal", istio()},
		{"Linkerd", "CrossRegionInternal", linkerd()},
	} {
		t.Run(c.flavour+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t).meshed(c.flavour, c.mesh)
			for range 3 {
				x.start(c.mesh.pods, x.ca)
			}
			x.obey(x.ca.Bundle())
			x.bring(x.gw)
			client := x.client(x.gw.Owner, 80, nil)
			client.answers("/", "200")
			l := client.under("/")
			l.more()

			x.do(x.ca.Add(ca.Root{Name: "b"}))
			x.accept()
			x.trust(x.ca.Bundle())
			x.obey(x.ca.Bundle())
			x.writes("root B is added", map[string]int{trustPatch: 1})
			l.more()
			x.do(x.ca.SignBy("b"))
			x.renew()
			l.more()
			both := x.ca.Bundle()
			x.do(x.ca.Drop("a"))
			x.obey(x.ca.Bundle())
			x.trust(both) // it stays for the overlap
			x.writes("the certificate leads to B", map[string]int{certificatePatch: 1})
			l.more()
			x.accept()
			l.more()
			x.trust(x.ca.Bundle())
			x.writes("root A is dropped", map[string]int{trustPatch: 1})
			l.end()
			x.moved()
			x.remove(x.gw.Owner)
		})
	}
}

// moved expects the gateway to have shown certificates of the first root, and in the end
// of the second one only.
func (x *meshed) moved() {
	x.Helper()
	if n := x.vault.issued; n != 2 {
		x.Errorf("%d certificates were issued, want one under each root", n)
	}
	now := hex.EncodeToString(x.ca.Roots()[0].SubjectKeyId)
	for _, p := range x.pods {
		seen := p.Seen()
		last := seen.Last[len(seen.Last)-1]
		if last.Outcome != inbound.Terminated || last.Authority != now || seen.Clear+seen.Passed > 0 {
			x.Errorf("a pod saw %+v at last", last)
		}
	}
	if got := x.authorities(); len(got) != 2 {
		x.Errorf("pods saw certificates of %v, want of both roots", got)
	}
}

// Why: a certificate that is renewed, as it is every day, is one change, and lost on
// nobody.
func TestRenewal(t *testing.T) {
	x := newWorld(t).meshed("RegionalExternal", istio())
	x.start(x.mesh.pods, x.ca)
	x.bring(x.gw)
	client := x.client(x.gw.Owner, 80, nil)
	client.answers("/", "200")
	l := client.under("/")
	for range 3 {
		// A shorter life is wanted: what is there lives for too long.
		one := x.gw.Identities[0]
		one.Renew.Lifetime -= one.Renew.Lifetime / 4
		x.vault.life(one.Renew.Lifetime)
		x.gw.Identities = []lbmodel.Identity{one}
		x.writes("the certificate is renewed", map[string]int{certificatePatch: 1})
		l.more()
	}
	l.end()
	serials := map[string]bool{}
	for _, c := range x.pods[0].Seen().Last {
		serials[c.Serial] = true
	}
	if len(serials) < 2 || x.vault.issued != 4 {
		t.Errorf("the pod saw %d certificates, %d were issued", len(serials), x.vault.issued)
	}
}
