package ccm

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"time"

	"github.com/spf13/pflag"

	"gatehouse.dev/providers"
)

// Provider is a kind of load balancer that the controllers may make.
type Provider struct {
	Name string // the last part of its controller name, gatehouse.dev/<name>
	// AllowLoopback says whether settings let traffic go to loopback addresses;
	// nil is never.
	AllowLoopback func(settings json.RawMessage) bool
	// Settings are those of the process (not of a gateway): a pointer to a struct
	// that the section providers.<name> of the configuration file is read into.
	// nil has none.
	Settings any
	// AddFlags binds flags to Settings; a flag that is given overrides the file.
	// nil adds none.
	AddFlags func(*pflag.FlagSet)
	// Used says whether this process has the provider's load balancers, by its
	// settings; nil is always. Classes of one that it has not are left to others.
	Used func() bool
	// Check says what is wrong with the settings, naming the field; nil is nothing.
	Check func() error
	// Open connects to the provider's account. It is called once, when this process
	// leads.
	Open func(context.Context, Options) (Backend, error)
}

// Options are what an account is opened with.
type Options struct {
	Cluster string
	Keyring providers.Keyring
	Log     *slog.Logger
}

// Backend is an open account.
type Backend struct {
	Provider providers.Provider
	Patience providers.Patience          // zero fields are the defaults
	Close    func(context.Context) error // after the last call; nil is nothing to close
	// CallTimeout is how long a call of the provider may take; zero is the account's
	// default.
	CallTimeout time.Duration
}

// Cloud is a cloud whose only cloud controller manager this process can be, with
// --cloud-provider=<Name>.
type Cloud struct {
	Name     string
	Provider string // serves the Services of type LoadBalancer
	// Machine finds a node's machine: by the provider ID, <Name>://<machine's name>,
	// or by the node's name where it has none yet.
	Machine func(node, providerID string) (Machine, bool)
}

// Machine is what a cloud knows of a node.
type Machine struct {
	Name, Type, Zone, Region string
	Addresses                []netip.Addr // none are the node's own
	Off                      bool
}
