// Command sidecar is a mesh's proxy for the end-to-end tests: it ends mutual TLS at
// $LISTEN and hands requests on to the application at $APP, and answers for its health.
// It is an Istio sidecar under STRICT, with its health at port 15021, or, where it is
// told whose it is as Linkerd tells it ($LINKERD2_PROXY_IDENTITY_LOCAL_NAME), a Linkerd
// proxy, with port 4191. It is the program of the image gatehouse.test/sidecar.
//
// Its certificate (tls.crt, tls.key) and the roots of its clients (roots.pem) are in
// the folder $FILES, and are read again while it runs. A Linkerd proxy has the roots of
// its injection instead ($LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS), for life. It gets
// nothing from a mesh and configures no other port. Where it is told to ($REQUESTS), it
// ends a connection after so many requests, so that there are handshakes all the time.
// Start with main.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"gatehouse.dev/fake/mesh/inbound"
)

// lookEvery is how often the files are read.
const lookEvery = 100 * time.Millisecond

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	files := os.Getenv("FILES")
	now, err := read(files)
	if err != nil {
		return err
	}
	listen, err := netip.ParseAddrPort(os.Getenv("LISTEN"))
	if err != nil {
		return err
	}
	requests, err := strconv.ParseInt(cmp.Or(os.Getenv("REQUESTS"), "0"), 10, 32)
	if err != nil {
		return err
	}
	proxy, healthAt := role()
	pod, err := inbound.Start(inbound.Config{
		Proxy: proxy, Leaf: now.leaf, Roots: now.roots, App: inbound.App{At: os.Getenv("APP")}, Listen: listen, Requests: int32(requests),
	})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	health := http.Server{Addr: healthAt, ReadHeaderTimeout: 10 * time.Second,
		Handler: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: pod.HealthAddr()})}
	go func() { failed <- health.ListenAndServe() }()
	err = follow(ctx, pod, files, now, failed)
	return errors.Join(err, health.Close(), pod.Close())
}

// role is which proxy it is, and where it answers for its health.
func role() (proxy inbound.Proxy, healthAt string) {
	if name := os.Getenv("LINKERD2_PROXY_IDENTITY_LOCAL_NAME"); name != "" {
		return inbound.Linkerd{Identity: name}, ":4191"
	}
	return inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, ":15021"
}

// follow takes what is new in the files until ctx ends.
func follow(ctx context.Context, pod *inbound.Pod, files string, now state, failed <-chan error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-tick.C:
		}
		next, err := read(files)
		if err != nil || bytes.Equal(next.text, now.text) {
			continue // a Secret that is being replaced is whole again in a moment
		}
		now = next
		pod.Update(func(s *inbound.Setting) { s.Leaf, s.Roots = now.leaf, now.roots })
		log.Printf("now with %d roots", len(now.roots))
	}
}

// state is what the files say.
type state struct {
	text  []byte
	leaf  tls.Certificate
	roots []*x509.Certificate
}

func read(files string) (s state, err error) {
	var parts [3][]byte
	for i, name := range []string{"tls.crt", "tls.key", "roots.pem"} {
		if parts[i], err = os.ReadFile(filepath.Join(files, name)); err != nil {
			return s, err
		}
	}
	if anchors := os.Getenv("LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS"); anchors != "" {
		parts[2] = []byte(anchors)
	}
	if s.leaf, err = tls.X509KeyPair(parts[0], parts[1]); err != nil {
		return s, err
	}
	for block, rest := pem.Decode(parts[2]); block != nil; block, rest = pem.Decode(rest) {
		root, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return s, err
		}
		s.roots = append(s.roots, root)
	}
	s.text = bytes.Join([][]byte{parts[0], parts[2]}, nil)
	return s, nil
}
