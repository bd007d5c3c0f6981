package main

import (
	"context"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/cli"
)

// fake is the embedded provider, gatehouse.dev/fake: a cloud without a cloud, with
// a data plane on this machine.
func fake(base local.Config) cli.Provider {
	return cli.Provider{
		Name:          "fake",
		Compiler:      local.Compiler(),
		Flavours:      []cli.Flavour{{Name: "fake"}},
		AllowLoopback: local.AllowsLoopback,
		Open: func(_ context.Context, o cli.Options) (cli.Backend, error) {
			config := base
			config.StateDir, config.ReadOnly = o.StateDir, o.ReadOnly
			config.Keyring, config.Log = o.Keyring, o.Log
			if o.Trouble != nil {
				config.Trouble = func(t dataplane.Trouble) { o.Trouble(cli.Trouble{Text: t.String(), Over: t.Over}) }
			}
			l, err := local.Open(config)
			if err != nil {
				return cli.Backend{}, err
			}
			return cli.Backend{Provider: l.Provider, Patience: l.Patience(), DataPlane: plane{l}, Close: l.Close}, nil
		},
	}
}

// plane is the embedded data plane in the command's words.
type plane struct{ *local.Local }

// Bound implements cli.DataPlane.
func (p plane) Bound() []cli.Bound {
	var out []cli.Bound
	for _, b := range p.Local.Bound() {
		out = append(out, cli.Bound{Owner: b.Owner, Port: b.Port, Protocol: b.Protocol, Addr: b.Addr})
	}
	return out
}
