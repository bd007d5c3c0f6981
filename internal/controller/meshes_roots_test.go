package controller

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/internal/controller/watch"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

func newRemembered(client *fake.Clientset, log *bytes.Buffer) *remembered {
	return &remembered{client: client, namespace: "ours", cluster: "c", entry: "e", log: slog.New(slog.NewTextHandler(log, nil))}
}

func rootsOf(t *testing.T, m *ca.CA) []lbmodel.Root {
	t.Helper()
	out, err := lbmodel.ParseRoots(m.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newCA(t *testing.T) *ca.CA {
	t.Helper()
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRemembered: the record is written when it says something new and seldom else, is
// read by who leads next, and leaves alone what it did not write.
func TestRemembered(t *testing.T) {
	client, now := fake.NewClientset(), time.Now()
	r := newRemembered(client, new(bytes.Buffer))
	roots := rootsOf(t, newCA(t))
	istio := rootsync.Memory{Bindings: map[string]rootsync.Binding{"istio": {Roots: roots, Seen: map[string]time.Time{roots[0].SPKI: now}}}}
	for _, c := range []struct {
		name  string
		m     rootsync.Memory
		after time.Duration
		calls int
	}{
		{"there is no mesh", rootsync.Memory{}, 0, 0},
		{"the first", istio, time.Minute, 2}, // a patch finds nothing, and it is made
		{"nothing new", istio, time.Minute, 0},
		{"somebody still looks", istio, rootsync.Restamp, 1},
		{"the binding is gone", rootsync.Memory{}, time.Minute, 1},
		{"and comes again", istio, time.Minute, 1},
	} {
		now = now.Add(c.after)
		client.ClearActions()
		if err := r.keep(t.Context(), c.m, now); err != nil {
			t.Fatal(err)
		}
		if n := len(client.Actions()); n != c.calls {
			t.Errorf("%s: %d calls, want %d", c.name, n, c.calls)
		}
	}
	got := newRemembered(client, new(bytes.Buffer)).read(t.Context(), now)
	if len(got.Bindings["istio"].Roots) != 1 || len(got.Bindings["istio"].Seen) != 1 {
		t.Errorf("who leads next reads %+v", got)
	}
	m, err := client.CoreV1().ConfigMaps("ours").Get(t.Context(), rememberedName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Data["other"] = "somebody else's"
	if _, err := client.CoreV1().ConfigMaps("ours").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.keep(t.Context(), rootsync.Memory{}, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if m, err = client.CoreV1().ConfigMaps("ours").Get(t.Context(), rememberedName, metav1.GetOptions{}); err != nil || m.Data["other"] == "" {
		t.Errorf("another manager's entry is gone: %v, %v", m.Data, err)
	}
}

// TestLostRecord: whatever is wrong with the record, a start goes on without it and says
// so.
func TestLostRecord(t *testing.T) {
	roots := rootsOf(t, newCA(t))
	text, _, err := rootsync.Encode(rootsync.Memory{Bindings: map[string]rootsync.Binding{"istio": {Roots: roots}}}, "another", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, said string
		err              error
	}{
		{"there is none", "", "", nil},
		{"broken", "{", "cannot be read", nil},
		{"of another cluster", string(text), `cluster \"another\"`, nil},
		{"not ours to read", "", "forbidden", errors.New("forbidden")},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, log := fake.NewClientset(), new(bytes.Buffer)
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ours", Name: rememberedName}, Data: map[string]string{"e": c.text}}
			if _, err := client.CoreV1().ConfigMaps("ours").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return c.err != nil, nil, c.err })
			got := newRemembered(client, log).read(t.Context(), time.Now())
			if len(got.Bindings)+len(got.Bundles) > 0 || !strings.Contains(log.String(), c.said) || (c.said == "") != (log.Len() == 0) {
				t.Errorf("read %+v, said %q, want %q", got, log, c.said)
			}
		})
	}
}

// TestConsulToken: a MeshBinding gets no Secret out of the cluster but one for it.
func TestConsulToken(t *testing.T) {
	const secret = "7f1c-token"
	token := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ours", Name: "consul"}, Type: v1alpha1.SecretTypeConsulToken, Data: map[string][]byte{"token": []byte(secret + "\n")}}
	edit := func(change func(*corev1.Secret)) *corev1.Secret {
		s := token.DeepCopy()
		change(s)
		return s
	}
	for _, c := range []struct {
		name string
		have *corev1.Secret
		want string // part of the error; "" is the token
	}{
		{"the token", &token, ""},
		{"of any other type", edit(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }), "not of type gatehouse.dev/consul-token"},
		{"in another namespace", edit(func(s *corev1.Secret) { s.Namespace = "apps" }), "not in namespace ours"},
		{"without an entry", edit(func(s *corev1.Secret) { s.Data = nil }), "no entry token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := consulToken(fake.NewClientset(c.have), "ours")(t.Context(), "consul")
			if c.want == "" && (got != secret || err != nil) || c.want != "" && (got != "" || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret)) {
				t.Errorf("got %q and %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestOutside: there is a bundle for a place before anybody plans with it, what is read
// comes with the next batch, and who leads next has it from the beginning.
func TestOutside(t *testing.T) {
	mesh, web := newCA(t), newCA(t)
	e, err := spiffe.StartEndpoint(spiffe.EndpointConfig{CA: mesh, Web: web})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := binding()
	b.Spec.TrustBundles = []v1alpha1.TrustBundleReference{{Kind: meshsync.RootsSPIFFE, Name: "example.org", URL: e.URL(), ServerRoots: string(web.Bundle())}}
	client := fake.NewClientset()
	lead := func() *meshWorld {
		w := newMeshWorld(t, b.DeepCopy())
		w.config.Log = slog.New(slog.DiscardHandler)
		w.config.Meshes = NewMeshes(MeshConfig{Client: client, Cluster: "c", Namespace: "ours"})
		w.recall(t.Context())
		w.want()
		if _, news := w.outside(); !news {
			t.Fatal("nothing is known of a place that a binding names")
		}
		return w
	}
	problem := func(w *meshWorld) string {
		known, _ := w.loop.Index().Bound("istio")
		return strings.Join(known.Problems, "; ")
	}
	first := lead()
	defer first.config.Meshes.roots.Close()
	if got := problem(first); !strings.Contains(got, "not been read yet") && got != "" {
		t.Errorf("before it is read: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first.config.Meshes.roots.Run(ctx)
	}()
	for deadline := time.After(20 * time.Second); problem(first) != ""; {
		select {
		case <-first.config.Meshes.roots.Changed():
			first.take(watch.Batch{})
		case <-deadline:
			t.Fatalf("it is not read: %q", problem(first))
		}
	}
	cancel()
	<-ended
	if err := first.remember(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	next := lead()
	defer next.config.Meshes.roots.Close()
	known, _ := next.loop.Index().Bound("istio")
	if len(known.Trust.Roots) != 1 || known.Trust.Unknown || problem(next) != "" {
		t.Errorf("who leads next knows %d roots, unknown %t, problem %q", len(known.Trust.Roots), known.Trust.Unknown, problem(next))
	}
}
