package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/providers"
)

// Config is what main gives the command: the providers and meshes there
// are, and the commands that are not in this package.
type Config struct {
	Providers []Provider
	// Meshes makes the dialects that gateways can be members of, by Dialect.Controller.
	// Domains are the trust domains that somebody named, likewise. Nil is none.
	Meshes func(domains map[string]string) map[string]meshsync.Dialect
	Extra  []func(Env) *cobra.Command // demo
}

// Provider is a kind of load balancer that the command can plan and apply.
type Provider struct {
	Name     string // the last part of its controller name, gatehouse.dev/<name>
	Compiler providers.Compiler
	Flavours []Flavour // the columns of the capability matrix
	// AllowLoopback says whether settings let traffic go to loopback addresses;
	// nil is never.
	AllowLoopback func(settings json.RawMessage) bool
	// Remote says that the account is somewhere else and takes credentials to reach: it
	// is opened for commands only that concern it, by their files or by what was applied.
	Remote bool
	// Open connects to the provider's account.
	Open func(context.Context, Options) (Backend, error)
	// Doctor says whether the account can be worked with, and what to do where it
	// cannot; nil has nothing to say. See Check.
	Doctor func(context.Context, Options) ([]Check, error)
}

// Check is one thing that a doctor has looked at.
type Check struct {
	Name   string `json:"name"`
	State  Health `json:"state"`
	Detail string `json:"detail,omitzero"` // what was found, and the way out
}

// Health is how a check came out.
type Health string

// The healths. Unproven is what nobody can say without the real cloud, or without
// changing anything.
const (
	Healthy  Health = "ok"
	Doubtful Health = "warning"
	Broken   Health = "failed"
	Unproven Health = "unproven"
)

// Flavour is one way to have a provider's gateways.
type Flavour struct {
	Name     string
	Settings json.RawMessage
}

// Options say which account and how.
type Options struct {
	StateDir string // where a provider without a cloud keeps what it holds; "" keeps it in memory
	ReadOnly bool   // nothing will be changed, and somebody else may be changing it
	Cluster  string
	Keyring  providers.Keyring
	Log      *slog.Logger
	Trouble  func(Trouble) // is told of backends that fail, by any goroutine; nil is nobody
	// Settings are the provider's sections of the GatewayParameters in the files, each
	// once.
	Settings []json.RawMessage
}

// Trouble is a backend that fails, or that does so no more.
type Trouble struct {
	Text string // a line for people
	Over bool
}

// Backend is an open account.
type Backend struct {
	Provider providers.Provider
	// Patience is how the provider's account waits; zero fields are its defaults.
	Patience providers.Patience
	// CallTimeout is how long a call of the provider may take; zero is the account's
	// default.
	CallTimeout time.Duration
	// DataPlane is nil when the provider's load balancers are not on this machine.
	DataPlane DataPlane
	Close     func() error // nil is nothing to close
}

// DataPlane is a load balancer inside this process that serves what the cloud
// holds.
type DataPlane interface {
	// Serve starts it. From then on it follows every change of what the cloud
	// holds; requests in flight are never disturbed.
	Serve(context.Context) error
	// Program makes sure that it serves what the cloud holds now. The error names
	// what cannot be served.
	Program(context.Context) error
	// Bound is where it answers, ordered by address.
	Bound() []Bound
	// Shutdown stops taking traffic, lets what is in flight end until the context
	// does, and then cuts it off.
	Shutdown(context.Context) error
}

// Bound is one socket of a data plane.
type Bound struct {
	Owner    lbmodel.Owner
	Port     int32 // the listeners' port
	Protocol lbmodel.Protocol
	Addr     netip.AddrPort // where it really is
}

// Env is what a command of another package may use.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
}
