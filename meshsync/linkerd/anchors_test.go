package linkerd

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
)

// root is a CA certificate as PEM text.
func root(t testing.TB, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func parsed(t testing.TB, text string) lbmodel.Root {
	t.Helper()
	roots, err := lbmodel.ParseRoots([]byte(text))
	if err != nil || len(roots) != 1 {
		t.Fatalf("%d roots, %v", len(roots), err)
	}
	return roots[0]
}

// proxied is a pod whose proxy was injected with anchors.
func proxied(t testing.TB, name, anchors string) *corev1.Pod {
	t.Helper()
	p := cluster(t, nil).Pod("shop", "cart-1")
	p.Name = name
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.Name == proxyContainer {
			c.Env = append(c.Env, corev1.EnvVar{Name: envAnchors, Value: anchors})
		}
	}
	return p
}

// TestInput13 is linkerd2 #13613: pods keep the anchors of their injection, so a
// client certificate of a new anchor waits until all of them were restarted.
func TestInput13(t *testing.T) {
	a, b := root(t, "a"), root(t, "b")
	elsewhere := proxied(t, "elsewhere", "")
	proxy := &elsewhere.Spec.InitContainers[1]
	proxy.Env[len(proxy.Env)-1].ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "ca-bundle.crt"}}
	over := proxied(t, "over", a)
	over.Status.Phase = corev1.PodSucceeded
	plain := cluster(t, []change{{"- name: linkerd-proxy", "- name: x"}}).Pod("shop", "cart-1")

	for _, c := range []struct {
		name, why string
		pods      []*corev1.Pod
		lacking   []string
	}{
		{"before restarts", "none has the new anchor", []*corev1.Pod{proxied(t, "one", a), proxied(t, "two", a)}, []string{"shop/one", "shop/two"}},
		{"during restarts", "one pod is enough to be refused by", []*corev1.Pod{proxied(t, "one", a), proxied(t, "two", a+b)}, []string{"shop/one"}},
		{"after restarts", "all have both", []*corev1.Pod{proxied(t, "one", a+b), proxied(t, "two", b+a)}, nil},
		{"anchors from elsewhere", "what cannot be read is not trusted", []*corev1.Pod{elsewhere}, []string{"shop/elsewhere"}},
		{"broken anchors", "", []*corev1.Pod{proxied(t, "one", a+"-----BEGIN CERTIFICATE-----\n")}, []string{"shop/one"}},
		{"a job that is over", "it takes no connection", []*corev1.Pod{over}, nil},
		{"no member", "it verifies nobody", []*corev1.Pod{plain}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.lacking, Lacking(c.pods, parsed(t, b))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			if got := TrustedByAll(c.pods, parsed(t, b)); got != (len(c.lacking) == 0) {
				t.Errorf("%s: trusted by all: %v", c.why, got)
			}
		})
	}
}

// TestInput12 is linkerd2 #4287: an old anchor that is dropped while there are pods
// that know no other is an outage.
func TestInput12(t *testing.T) {
	a, b := root(t, "a"), root(t, "b")
	pods := []*corev1.Pod{proxied(t, "old", a), proxied(t, "both", a+b), proxied(t, "new", b)}
	if diff := cmp.Diff([]string{"shop/old"}, Stranded(pods, []lbmodel.Root{parsed(t, b)})); diff != "" {
		t.Errorf("the root a must stay while a pod has nothing else (-want +got):\n%s", diff)
	}
	if got := Stranded(pods, []lbmodel.Root{parsed(t, a), parsed(t, b)}); got != nil {
		t.Errorf("with both roots nobody is stranded, got %q", got)
	}
}

// TestInput14 is linkerd2 #3880: line ends around a root are no change of it.
func TestInput14(t *testing.T) {
	a := root(t, "a")
	forms := map[string]string{
		"as it is": a, "no line end": strings.TrimSpace(a), "more line ends": "\n" + a + "\n\n",
		"CRLF": strings.ReplaceAll(a, "\n", "\r\n"), "comments": "# root\n" + a, "twice": a + a,
	}
	for name, form := range forms {
		pod := proxied(t, "one", form)
		if text, ok := Anchors(pod); !ok || !bytes.Equal([]byte(text), []byte(form)) {
			t.Errorf("%s: the text is the pod's own, got %q", name, text)
		}
		if !TrustedByAll([]*corev1.Pod{pod}, parsed(t, a)) {
			t.Errorf("%s: the DER is the same, so the root is", name)
		}
	}
}
