package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Why: a cloud outlives whoever applies to it, two of those see one cloud, and a
// restart brings everything back by itself.
func TestServesWhatClientsApply(t *testing.T) {
	dir, at := directory(t), backend(t)
	s := start(t, ServerConfig{StateDir: dir})
	first := open(t, Config{Address: s.Address()})
	apply(t, account(first), gateway("g", at))
	eventually(t, "what is applied is served", says(s.Bound, "g"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client is gone", says(s.Bound, "g"))
	second := account(open(t, Config{Address: s.Address()}))
	if p := plan(t, second, gateway("g", at)); !p.Empty() {
		t.Errorf("another client would change something: %v", p.Steps)
	}
	before := s.Bound()[0].Addr.Addr()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, ServerConfig{StateDir: dir})
	if err := says(again.Bound, "g")(); err != nil {
		t.Errorf("after a restart, before anybody called: %v", err)
	}
	if got := again.Bound()[0].Addr.Addr(); got != before {
		t.Errorf("after a restart the address is %s, not %s", got, before)
	}
	if p := plan(t, second, gateway("g", at)); !p.Empty() {
		t.Errorf("after a restart the client would change something: %v", p.Steps)
	}
}

// Why: a failover issues nothing, and a restart asks nobody for a key. A key is on
// the disk for as long as a certificate has it, for its owner only, and crosses the
// socket once.
func TestKeysStay(t *testing.T) {
	dir := directory(t)
	gw, keys := secure(t, "g", backend(t))
	s := start(t, ServerConfig{StateDir: dir})
	apply(t, account(open(t, Config{Address: s.Address(), Keyring: keys.key})), gw)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, ServerConfig{StateDir: dir})
	if got := shown(t, s.Bound()[0].Addr); got != keys.leaf.SHA256 {
		t.Errorf("after a restart leaf %s is shown", got)
	}
	next := account(open(t, Config{Address: s.Address(), Keyring: keys.key}))
	apply(t, next, gw)
	if keys.asked != 1 {
		t.Errorf("the key was asked for %d times, want once", keys.asked)
	}
	if diff := cmp.Diff([]string{keys.leaf.SHA256 + ".json"}, files(t, dir)); diff != "" {
		t.Errorf("keys on the disk: %s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, "keys", keys.leaf.SHA256+".json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	next.Drop(gw.Owner)
	p, err := next.Plan(t.Context(), []lbmodel.Owner{gw.Owner})
	if err := errors.Join(err, next.Apply(t.Context(), p, nil).Err()); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("the certificate is gone, and its key is not: %v", left)
	}
}

// Why: what a killed process has half written, or a key whose call never reached
// the cloud, is not kept for ever.
func TestStartSweepsKeys(t *testing.T) {
	dir := directory(t)
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".new-1", strings.Repeat("a", 64) + ".json"} {
		if err := os.WriteFile(filepath.Join(dir, "keys", name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, ServerConfig{StateDir: dir})
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// Why: two processes on one state would overwrite each other, and two on one socket
// would hide each other; what a killed one has left is in nobody's way.
func TestSecondServer(t *testing.T) {
	dir, other := directory(t), directory(t)
	s := start(t, ServerConfig{StateDir: dir})
	cases := []struct {
		name   string
		config ServerConfig
		want   string
	}{
		{"same state", ServerConfig{StateDir: dir, Socket: filepath.Join(other, "s")}, "has it in use: stop that process first"},
		{"same socket", ServerConfig{StateDir: other, Socket: filepath.Join(dir, "cloud.sock")}, "another process listens there"},
		{"no state", ServerConfig{}, "a state directory is required"},
		{"a file in the way", ServerConfig{StateDir: other, Socket: filepath.Join(dir, "journal")}, "another file is there"},
		{"too long", ServerConfig{StateDir: other, Socket: filepath.Join(other, strings.Repeat("x", 100))}, "use a shorter one"},
		{"a token that is none", ServerConfig{StateDir: other, TokenFile: os.DevNull}, "holds 0 characters, want at least 16"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Start: %v, want %q", err, c.want)
			}
		})
	}
	if _, err := open(t, Config{Address: s.Address()}).Provider.Observe(t.Context(), lbmodel.Owner{Cluster: "c"}, nil); err != nil {
		t.Errorf("the first one answers no more: %v", err)
	}
}

// Why: whoever reaches the socket needs the token too, but nobody else shall reach
// it at all.
func TestSocketIsPrivate(t *testing.T) {
	dir := directory(t)
	s := start(t, ServerConfig{StateDir: dir, Socket: filepath.Join(dir, "run", "s")})
	for path, want := range map[string]fs.FileMode{
		filepath.Join(dir, "run"): fs.ModeDir | 0o700, filepath.Join(dir, "run", "s"): fs.ModeSocket | 0o600, s.TokenFile(): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	public := filepath.Join(dir, "public")
	if err := errors.Join(os.Mkdir(public, 0o700), os.Chmod(public, 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), ServerConfig{StateDir: directory(t), Socket: filepath.Join(public, "s")})
	if err == nil || !strings.Contains(err.Error(), "others could reach the socket") {
		t.Errorf("a directory that others may enter is taken: %v", err)
	}
}

// Why: whoever may choose a gateway's prefixes must not choose this machine's own
// addresses.
func TestAddressPool(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), AddressPool: []netip.Prefix{netip.MustParsePrefix("127.73.0.0/16")}})
	a := account(open(t, Config{Address: s.Address()}))
	apply(t, a, gateway("inside", backend(t)))
	outside := gateway("outside", backend(t))
	outside.Settings = []byte(`{"allowLoopbackEndpoints":true,"addressPool":["127.0.0.0/8"]}`)
	out := a.Apply(t.Context(), plan(t, a, outside), nil)
	for id, err := range out.Failed {
		if lbmodel.CodeOf(err) != lbmodel.CodeInvalid || !strings.Contains(err.Error(), "127.73.0.0/16") {
			t.Errorf("%s: %v, want it Invalid, naming the pool", id, err)
		}
	}
	if len(out.Failed) != 1 || len(s.Bound()) > 1 {
		t.Errorf("failed: %v, bound: %v", out.Failed, s.Bound())
	}
}

// Why: an access log that nobody can read tells nothing, and one with queries tells
// too much.
func TestAccessLog(t *testing.T) {
	var log buffer
	s := start(t, ServerConfig{StateDir: directory(t), AccessLog: &log})
	apply(t, account(open(t, Config{Address: s.Address()})), gateway("g", backend(t)))
	eventually(t, "traffic", says(s.Bound, "g"))
	eventually(t, "a line of it", func() error {
		if !strings.Contains(log.String(), `"name":"g"`) || !strings.Contains(log.String(), `"status":200`) {
			return fmt.Errorf("the log is %q", log.String())
		}
		return nil
	})
}

// buffer is a log that is read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Why: pod readiness waits for it. It is one call, of the endpoints only.
func TestHealth(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), HealthEvery: time.Millisecond})
	a, at := account(open(t, Config{Address: s.Address()})), backend(t)
	gw := gateway("g", at)
	gw.Pools[0].Endpoints = append(gw.Pools[0].Endpoints, lbmodel.Endpoint{Address: "127.0.0.1", Port: 1, Ready: true, Serving: true})
	gw.Pools[0].Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/", Interval: lbmodel.Duration(5 * time.Millisecond), Healthy: 1, Unhealthy: 1}
	apply(t, a, gw)
	want := map[lbmodel.Target]lbmodel.Health{lbmodel.Target(at.String()): lbmodel.HealthHealthy, "127.0.0.1:1": lbmodel.HealthUnhealthy}
	eventually(t, "what the checks say", func() error {
		if _, err := a.ReadHealth(t.Context()); err != nil {
			return err
		}
		known := a.Health(providers.PoolChange{Owner: gw.Owner, Pool: gw.Pools[0], Settings: gw.Settings})
		if diff := cmp.Diff(want, known.Targets); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	before := s.State().Calls["ListObjects"]
	if changed, err := a.ReadHealth(t.Context()); err != nil || len(changed) > 0 {
		t.Errorf("nothing has changed: %v, %v", changed, err)
	}
	if n := s.State().Calls["ListObjects"] - before; n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// Why: what is in flight when the process is asked to end gets its answer.
func TestDrains(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), DrainTimeout: 5 * time.Second})
	slow := slowBackend(t, 300*time.Millisecond)
	apply(t, account(open(t, Config{Address: s.Address()})), gateway("g", slow.at))
	admin := openAdmin(t, s.Address())
	if err := admin.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		text, err := get(s.Bound()[0].Addr)
		got <- fmt.Sprint(text, err)
	}()
	<-slow.asked
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if text := <-got; text != "200 slow<nil>" {
		t.Errorf("the request in flight got %q", text)
	}
}
