package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"time"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/lbmodel"
)

// ServerConfig makes a Server. StateDir is required; every other zero value means
// what its comment says.
type ServerConfig struct {
	StateDir  string // where the cloud keeps what it holds, and its keys; for one process at a time
	Socket    string // cloud.sock in StateDir; its directory must be closed to others, and is made
	TokenFile string // the socket's path and ".token"; made if it is not there

	AddressPool  []netip.Prefix  // the only prefixes that addresses are taken from; any
	Ports        dataplane.Ports // which port is bound for a listener's
	DrainTimeout time.Duration   // of requests in flight when Run ends; 30 s
	AccessLog    io.Writer       // a line of JSON for each request, dataplane.Entry; none
	Log          *slog.Logger    // discarded
	HealthEvery  time.Duration   // between two reports of the endpoints' health to the cloud; 500 ms
	Faults       bool            // Admin.Spoil is allowed
}

func (c ServerConfig) withDefaults() (ServerConfig, error) {
	var err error
	c.Socket, err = filepath.Abs(cmp.Or(c.Socket, filepath.Join(c.StateDir, "cloud.sock"))) // an address has no working directory
	c.TokenFile = tokenFile(c.TokenFile, c.Socket)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, err
}

// Server is a fake cloud and its data plane behind a socket.
type Server struct {
	config   ServerConfig
	local    *local.Local
	faults   faults
	http     *http.Server
	listener net.Listener
	hangUp   context.CancelFunc // ends the calls under way
	failed   chan error         // why the API is answered no more
}

// Start opens what the state directory holds, serves it, and listens. A directory
// or a socket that another process has in use is an error. Call Run next: it is what
// ends a Server.
func Start(ctx context.Context, config ServerConfig) (*Server, error) {
	if config.StateDir == "" {
		return nil, errors.New("a state directory is required: it is where the fake cloud keeps what it holds")
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, failed: make(chan error, 1)}
	keys, err := openShelf(filepath.Join(config.StateDir, "keys"))
	if err != nil {
		return nil, err
	}
	s.local, err = local.Open(s.localConfig(keys))
	if err != nil {
		return nil, err
	}
	keys.held = func() map[string]bool { return leavesOf(s.local.Cloud) }
	if err := s.begin(ctx, keys); err != nil {
		return nil, errors.Join(err, s.endPlane(ctx), s.local.Close())
	}
	return s, nil
}

func (s *Server) localConfig(keys *shelf) local.Config {
	c := local.Config{
		StateDir: s.config.StateDir, Keyring: keys.read, Log: s.config.Log, Ports: s.config.Ports,
		DrainTimeout: s.config.DrainTimeout, Intercept: &s.faults, HealthEvery: s.config.HealthEvery,
	}
	if s.config.AccessLog != nil {
		c.AccessLog = dataplane.LogTo(s.config.AccessLog)
	}
	return c
}

// begin serves traffic first: whoever sees the socket may rely on the gateways.
func (s *Server) begin(ctx context.Context, keys *shelf) error {
	if err := keys.sweep(); err != nil {
		return err
	}
	if err := s.local.Serve(ctx); err != nil {
		return err
	}
	if err := s.local.Program(ctx); err != nil {
		s.config.Log.Warn("not everything can be served", "err", err)
	}
	listener, err := listen(ctx, s.config.Socket)
	if err != nil {
		return err
	}
	token, err := ensureToken(s.config.TokenFile)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.listener = listener
	h := newHandler(&guarded{API: s.local.Cloud, shelf: keys, pool: s.config.AddressPool, log: s.config.Log}, token, s.config.Log)
	s.addAdmin(h)
	s.answer(h)
	return nil
}

// answer takes calls until Run ends. A caller that is slow to send or to read is cut
// off, so that it costs one connection and not for long.
func (s *Server) answer(h http.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	s.hangUp = cancel
	s.http = &http.Server{
		Handler:           h,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      maxCallTime + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // of connections that callers end; nobody's news
	}
	go func() { s.failed <- s.http.Serve(s.listener) }()
}

// Run serves until ctx ends, which is no error, or until the socket fails. Then no
// more calls are answered, requests in flight are let end, and everything is given
// back; the error is a *dataplane.CutError where some had to be cut off.
func (s *Server) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case err := <-s.failed:
		s.failed <- err // for endCalls
	}
	return errors.Join(s.endCalls(), s.endPlane(context.WithoutCancel(ctx)), s.local.Close())
}

// endCalls ends calls that hang, and lets the others finish.
func (s *Server) endCalls() error {
	s.hangUp()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close() // somebody reads too slowly
	}
	if served := <-s.failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// endPlane drains the data plane. Streams have no end to wait for, so that some were
// open is worth a line only.
func (s *Server) endPlane(ctx context.Context) error {
	err := s.local.Shutdown(ctx)
	if cut, ok := errors.AsType[*dataplane.CutError](err); ok && cut.Lost() == 0 {
		s.config.Log.Info("drained", "but", cut.Error())
		return nil
	}
	return err
}

// Address is what clients give to [Open].
func (s *Server) Address() string { return scheme + s.config.Socket }

// TokenFile is where the token is that clients must present.
func (s *Server) TokenFile() string { return s.config.TokenFile }

// Bound is where the gateways answer, ordered by address.
func (s *Server) Bound() []Bound {
	var out []Bound
	for _, b := range s.local.Bound() {
		out = append(out, Bound(b))
	}
	return out
}

// Bound is one socket of the data plane.
type Bound struct {
	Owner    lbmodel.Owner    `json:"gateway"`
	Port     int32            `json:"port"` // the listeners' port
	Protocol lbmodel.Protocol `json:"protocol"`
	Addr     netip.AddrPort   `json:"address"` // where it really is
}
