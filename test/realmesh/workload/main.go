// Command workload is a pod of a real mesh that ends mutual TLS itself: it gets its
// certificate and its clients' roots as the mesh gives them, from istiod's CA (-istiod)
// or from a SPIFFE agent (-agent), renews them while it runs, and lets nobody in but
// the clients of -clients.
//
// It takes nothing from Gatehouse but the names, so that both sides of a connection
// are not one program's work. What it saw of its clients is at -stats, in JSON. Start
// with main.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	var i istio
	var agent, listen, stats, clients string
	var keep time.Duration
	flag.StringVar(&i.address, "istiod", "", "host:port of istiod's CA")
	flag.StringVar(&i.token, "token", "", "file with the token that istiod is shown")
	flag.StringVar(&i.roots, "roots", "", "file with the roots by which istiod is verified")
	flag.DurationVar(&i.every, "renew", 2*time.Second, "how often istiod is asked for another certificate")
	flag.StringVar(&agent, "agent", "", "Workload API of a SPIFFE agent, in place of istiod: unix:///path")
	flag.StringVar(&listen, "listen", "", "where mutual TLS is ended")
	flag.StringVar(&stats, "stats", "", "where it is told what was seen")
	flag.StringVar(&clients, "clients", "", "SPIFFE IDs that are let in, separated by commas")
	flag.DurationVar(&keep, "keep", 0, "how long a root is kept that the mesh has dropped: pods learn of it when they renew")
	flag.Parse()

	s := newServer(strings.Split(clients, ","))
	s.keep = keep
	follow := func(ctx context.Context) error { return i.follow(ctx, s.take) }
	if agent != "" {
		follow = func(ctx context.Context) error { return followAgent(ctx, agent, s.take) }
	}
	return s.run(ctx, listen, stats, follow)
}

// run serves both addresses, and follows the mesh, until ctx ends or something fails.
func (s *server) run(ctx context.Context, listen, stats string, follow func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	secure, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	told := http.Server{Addr: stats, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(s.tell)}
	ended := make(chan error, 3)
	go func() { ended <- follow(ctx) }()
	go func() { ended <- s.serve(secure) }()
	go func() { ended <- told.ListenAndServe() }()
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	return errors.Join(err, secure.Close(), told.Close())
}

// tell says what was seen; until there is a certificate it says that it is not ready.
func (s *server) tell(w http.ResponseWriter, r *http.Request) {
	if s.now.Load() == nil {
		http.Error(w, "no certificate yet", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == "/healthz/ready" { // as a sidecar's
		return
	}
	if err := json.NewEncoder(w).Encode(s.seen.copy()); err != nil {
		log.Print(err)
	}
}
