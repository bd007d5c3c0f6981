package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gatehouse.dev/ccm"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/fake/remote"
)

// fake is the fake provider, gatehouse.dev/fake: over a cloud inside this process,
// which ends with it, or over one that is a process of its own and stays.
type fake struct {
	// Address of `gatehouse fake-cloud`, unix:///path; empty is a cloud inside.
	Address string `json:"address,omitempty"`
	// TokenFile proves that one may call it; empty is beside the socket.
	TokenFile string `json:"tokenFile,omitempty"`
	// StateDir is where a cloud inside keeps what it holds; empty is in memory.
	StateDir string `json:"stateDir,omitempty"`
	// Machines are the nodes' machines with --cloud-provider=fake. With none, every
	// node is a machine.
	Machines []machine `json:"machines,omitempty"`
}

type machine struct {
	Name      string       `json:"name"`
	Type      string       `json:"type,omitempty"`
	Zone      string       `json:"zone,omitempty"`
	Region    string       `json:"region,omitempty"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Off       bool         `json:"off,omitempty"`
}

func (f *fake) provider() ccm.Provider {
	return ccm.Provider{
		Name: "fake", AllowLoopback: local.AllowsLoopback,
		Settings: f, AddFlags: f.addFlags, Check: f.check, Open: f.open,
	}
}

func (f *fake) addFlags(set *pflag.FlagSet) {
	set.StringVar(&f.Address, "fake-cloud", "", "Address of a fake cloud that is a process of its own (unix:///path, see gatehouse fake-cloud). Empty is a cloud inside this process.")
	set.StringVar(&f.TokenFile, "fake-cloud-token", "", "File with the token for --fake-cloud. Empty is the socket's path and .token.")
	set.StringVar(&f.StateDir, "fake-state-dir", "", "Where a fake cloud inside this process keeps what it holds. Empty is in memory.")
}

func (f *fake) check() error {
	if f.Address != "" && f.StateDir != "" {
		return errors.New("stateDir is for a cloud inside this process, and address names one outside: leave one of them out")
	}
	if f.Address == "" && f.TokenFile != "" {
		return errors.New("tokenFile is for a cloud outside this process: set address too, or leave it out")
	}
	for i, m := range f.Machines {
		if m.Name == "" {
			return fmt.Errorf("machines[%d].name: a machine needs the name of its node", i)
		}
	}
	return nil
}

func (f *fake) open(ctx context.Context, o ccm.Options) (ccm.Backend, error) {
	if f.Address != "" {
		r, err := remote.Open(remote.Config{Address: f.Address, TokenFile: f.TokenFile, Keyring: o.Keyring})
		if err != nil {
			return ccm.Backend{}, err
		}
		return ccm.Backend{Provider: r.Provider, Patience: r.Patience(), Close: func(context.Context) error { return r.Close() }}, nil
	}
	l, err := local.Open(local.Config{StateDir: f.StateDir, Keyring: o.Keyring, Log: o.Log})
	if err != nil {
		return ccm.Backend{}, err
	}
	end := func(ctx context.Context) error { return errors.Join(l.Shutdown(ctx), l.Close()) }
	if err := l.Serve(ctx); err != nil {
		return ccm.Backend{}, errors.Join(err, end(ctx))
	}
	return ccm.Backend{Provider: l.Provider, Patience: l.Patience(), Close: end}, nil
}

// machine finds a node's, by its provider ID where it has one.
func (f *fake) machine(node, id string) (ccm.Machine, bool) {
	if id != "" {
		node = strings.TrimPrefix(id, "fake://")
	}
	if len(f.Machines) == 0 {
		return ccm.Machine{Name: node}, true
	}
	i := slices.IndexFunc(f.Machines, func(m machine) bool { return m.Name == node })
	if i < 0 {
		return ccm.Machine{}, false
	}
	return ccm.Machine(f.Machines[i]), true
}
