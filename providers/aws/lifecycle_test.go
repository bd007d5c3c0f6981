package aws

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// vault keeps certificates, and issues some.
type vault struct {
	now func() time.Time

	mu     sync.Mutex
	pairs  map[string]tls.Certificate // by leaf
	issued int
}

func newVault(now func() time.Time) *vault {
	return &vault{now: now, pairs: map[string]tls.Certificate{}}
}

// key implements providers.Keyring.
func (v *vault) key(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id.Leaf == nil {
		v.issued++
		pair, _ := v.pair(id.DNSNames...)
		return pair, nil
	}
	pair, ok := v.pairs[id.Leaf.SHA256]
	if !ok {
		return pair, lbmodel.Errorf(lbmodel.CodeUnresolved, "Keyring", noID, "no key of leaf %s", id.Leaf.SHA256)
	}
	return pair, nil
}

// pair makes a certificate that signs itself, valid for a day.
func (v *vault) pair(names ...string) (tls.Certificate, *lbmodel.Leaf) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // no machine for any test
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(v.pairs) + 1)), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: v.now().Add(-time.Hour), NotAfter: v.now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	out := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	leaf, err := providers.LeafOf(out)
	if err != nil {
		panic(err)
	}
	v.pairs[leaf.SHA256] = out
	return out, leaf
}

// root is a CA root as the model has it.
func (v *vault) root(name string) lbmodel.Root {
	v.mu.Lock()
	defer v.mu.Unlock()
	pair, _ := v.pair(name)
	roots, err := lbmodel.ParseRoots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	if err != nil {
		panic(err)
	}
	return roots[0]
}

// newLifeShop is an account with what the golden gateways name: a bucket for roots, and
// a vault.
func newLifeShop(t *testing.T, config awsapi.Config) (*shop, *vault) {
	t.Helper()
	s := newShop(t, config)
	v := newVault(s.clock.Now)
	s.keys = v.key
	s.restart()
	p := s.client(s.accountWorld)
	must2(p.calls.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("my-roots")}))(t)
	must2(p.calls.s3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: aws.String("my-roots"),
		VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}}))(t)
	return s, v
}

// liveGateway is a golden gateway with the names of the account's own things, and with
// certificates that are some.
func liveGateway(t *testing.T, path string, v *vault) lbmodel.Gateway {
	t.Helper()
	gw := readGateway(t, path)
	gw.Settings = json.RawMessage(strings.NewReplacer("eu-west-1", testRegion, "vpc-01", "vpc-0a1b2c3d4e5f60718", "subnet-0a", "subnet-00000000000000001",
		"subnet-0b", "subnet-00000000000000002", "sg-01", "sg-0a1b2c3d4e5f60718", "sg-0a\"", "sg-0a1b2c3d4e5f60718\"").Replace(string(gw.Settings)))
	for i := range gw.Identities {
		if id := &gw.Identities[i]; id.Leaf != nil {
			_, id.Leaf = v.pair(id.Leaf.DNSNames...)
		}
		gw.Identities[i].Renew.Authorities = nil
	}
	for i := range gw.Trust {
		gw.Trust[i].Roots = []lbmodel.Root{v.root("one.test")}
	}
	return gw
}

// lives are the golden gateways that an empty account can have.
func lives(t *testing.T) []string {
	var out []string
	for _, path := range goldens(t) {
		if !strings.Contains(path, "held") { // of somebody else's: see the laws
			out = append(out, path)
		}
	}
	return out
}

// converge repeats passes until one finds nothing to do.
func (s *shop) converge(owner lbmodel.Owner) {
	s.Helper()
	last := ""
	for range 8 {
		plan, err := s.account.Plan(s.Context(), []lbmodel.Owner{owner})
		if err == nil && plan.Empty() && len(plan.Waiting()) == 0 {
			return
		}
		out := s.account.Apply(s.Context(), plan, nil)
		last = fmt.Sprint(err, " ", out.Err(), "\n", plan.Plan)
		s.clock.Advance(time.Minute)
	}
	s.Fatalf("still not done: %s", last)
}

// quiet expects a plan with nothing in it, and no write.
func (s *shop) quiet(when string, owner lbmodel.Owner) {
	s.Helper()
	s.Forget()
	plan := must2(s.account.Plan(s.Context(), []lbmodel.Owner{owner}))(s)
	if !plan.Empty() {
		s.Fatalf("%s: the plan is not empty: %+v", when, plan.Steps)
	}
	for _, c := range s.Calls() {
		if c.Writes {
			s.Errorf("%s: %s", when, c.Action)
		}
	}
}

// gone deletes a gateway and expects nothing to be left.
func (s *shop) gone(owner lbmodel.Owner, empty string) {
	s.Helper()
	s.account.Drop(owner)
	s.converge(owner)
	s.clock.Advance(time.Hour)
	s.converge(owner)
	if left := s.Server.Dump(); left != empty {
		s.Errorf("something is left:\n%s\nwant\n%s", left, empty)
	}
}

// Why: every kind of resource must be read as it is written, or each plan would do it
// again; and it must go.
func TestEveryKindLivesAndGoes(t *testing.T) {
	strict := elb.Undocumented{HeaderNameCounts: true, ThreePerCondition: true, MissingGroupFails: true, TagsAreSettings: true, UnusedDrain: true}
	for _, account := range []struct {
		name string
		of   awsapi.Config
	}{{"at once", awsapi.Config{}}, {"as long as AWS takes", awsapi.Config{Times: awsapi.Lifelike()}}, {"where AWS says nothing", awsapi.Config{Undocumented: strict}}} {
		for _, path := range lives(t) {
			t.Run(filepath.Base(filepath.Dir(path))+" "+account.name, func(t *testing.T) {
				s, v := newLifeShop(t, account.of)
				empty, gw := s.Server.Dump(), liveGateway(t, path, v)
				s.account.Want(gw)
				s.converge(gw.Owner)
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

// Why: a process may end at any call, before it or before its reply, when something is
// made and when it is deleted. Another goes on, nothing is doubled and nothing stays.
func TestEveryKindIsKilled(t *testing.T) {
	for way, path := range lives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			step := max(1, *every/4)
			if strings.Contains(path, "https-verified") { // trust stores and certificates are in no law
				step = max(1, *every/16)
			}
			for n := (firstCall(t) + way) % step; killedAt(t, path, n); n += step {
				if t.Failed() {
					return
				}
			}
		})
	}
}

// killedAt ends processes at the n-th call of making, and of deleting, a gateway. It
// says whether either came that far.
func killedAt(t *testing.T, path string, n int) bool {
	t.Helper()
	reached := false
	for _, how := range []providertest.FaultKind{providertest.Refuse, providertest.LoseReply} {
		s, v := newLifeShop(t, awsapi.Config{})
		empty, gw := s.Server.Dump(), liveGateway(t, path, v)
		reached = s.die(n, how, func() { s.account.Want(gw) }, gw.Owner) || reached
		s.account.Want(gw)
		s.converge(gw.Owner)
		s.quiet(fmt.Sprintf("after a process ended at call %d", n), gw.Owner)
		reached = s.die(n, how, func() { s.account.Drop(gw.Owner) }, gw.Owner) || reached
		s.gone(gw.Owner, empty)
		if t.Failed() {
			t.Logf("call %d, fault %d", n, how)
			return false
		}
	}
	return reached
}

// die makes one pass of a process that ends at a call.
func (s *shop) die(n int, how providertest.FaultKind, wish func(), owner lbmodel.Owner) bool {
	wish()
	death := &deadline{n: n, how: how}
	s.Hook(death)
	if plan, err := s.account.Plan(s.Context(), []lbmodel.Owner{owner}); err == nil {
		_ = s.account.Apply(s.Context(), plan, nil) // what it says is lost with the process
	}
	s.Hook(nil)
	s.restart()
	return death.calls > n
}

// deadline is a process that ends at its n-th call.
type deadline struct {
	n, calls int
	how      providertest.FaultKind
}

// Before implements providertest.Hook.
func (d *deadline) Before(providertest.Call) providertest.Fault {
	d.calls++
	switch at := d.calls - 1; {
	case at < d.n:
		return providertest.Fault{}
	case at == d.n:
		return providertest.Fault{Kind: d.how, Code: lbmodel.CodeUnavailable}
	default:
		return providertest.Fault{Kind: providertest.Refuse, Code: lbmodel.CodeDenied}
	}
}

// After implements providertest.Hook.
func (*deadline) After(providertest.Call) {}
