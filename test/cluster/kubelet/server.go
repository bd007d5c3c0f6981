package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// serve opens a node's port, where the API server reads logs. It knows callers
// by their certificate.
func (k *Kubelet) serve(n Node) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(k.config.ClientCA)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	s := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return k.ctx },
		ErrorLog:          slog.NewLogLogger(k.config.Log.Handler(), slog.LevelWarn),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{k.config.Serving},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
		},
	}
	for _, a := range n.Addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(a.String(), strconv.Itoa(k.config.Port)))
		if err != nil {
			return errors.Join(fmt.Errorf("node %s: %w", n.Name, err), s.Close())
		}
		k.wait.Go(func() {
			if err := s.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
				k.config.Log.Error("port of a node", "node", n.Name, "error", err)
			}
		})
	}
	k.wait.Go(func() {
		<-k.ctx.Done()
		s.Close()
	})
	return nil
}

// logs answers as a real kubelet: plain text, as far as it is there.
func (k *Kubelet) logs(out http.ResponseWriter, r *http.Request) {
	w := k.find(r.PathValue("namespace"), r.PathValue("pod"))
	if w == nil {
		http.Error(out, "no such pod on this node", http.StatusNotFound)
		return
	}
	c := w.container(r.PathValue("container"))
	if c == nil {
		http.Error(out, "no such container", http.StatusNotFound)
		return
	}
	q, err := parseQuery(r)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	run, done := c.current()
	if r.FormValue("previous") == "true" {
		run, q.follow = run-1, false
	}
	out.Header().Set("Content-Type", "text/plain")
	err = q.read(r.Context(), k.logPath(c.logName(run)), flusher{out}, done)
	if errors.Is(err, os.ErrNotExist) {
		http.Error(out, "the container has not run", http.StatusBadRequest)
	} // any other error: the reader has gone, or has what it asked for
}

// current is the number of the present run, and what closes when it ends.
func (c *container) current() (int32, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		return c.restarts, c.process.done
	}
	over := make(chan struct{})
	close(over)
	if c.state.Waiting != nil && c.restarts > 0 {
		return c.restarts - 1, over // between two runs
	}
	return c.restarts, over
}

// flusher hands each line on at once.
type flusher struct{ http.ResponseWriter }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

var _ io.Writer = flusher{}

func parseQuery(r *http.Request) (query, error) {
	q := query{tail: -1, follow: r.FormValue("follow") == "true", timestamps: r.FormValue("timestamps") == "true"}
	var err error
	if v := r.FormValue("sinceTime"); v != "" {
		if q.since, err = time.Parse(time.RFC3339Nano, v); err != nil {
			return q, fmt.Errorf("sinceTime: %w", err)
		}
	}
	if v := r.FormValue("sinceSeconds"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return q, fmt.Errorf("sinceSeconds: %w", err)
		}
		q.since = time.Now().Add(-time.Duration(n) * time.Second)
	}
	if v := r.FormValue("tailLines"); v != "" {
		if q.tail, err = strconv.Atoi(v); err != nil {
			return q, fmt.Errorf("tailLines: %w", err)
		}
	}
	if v := r.FormValue("limitBytes"); v != "" {
		if q.limit, err = strconv.ParseInt(v, 10, 64); err != nil {
			return q, fmt.Errorf("limitBytes: %w", err)
		}
	}
	return q, nil
}
