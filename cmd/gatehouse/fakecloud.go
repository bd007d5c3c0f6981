package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/fake/remote"
	"gatehouse.dev/internal/cli"
)

// fakeCloudFlags are those of `gatehouse fake-cloud`.
type fakeCloudFlags struct {
	server    remote.ServerConfig
	pool      []string
	ports     string
	accessLog string
	output    string
}

// fakeCloud is `gatehouse fake-cloud`: the embedded cloud as a process of its own.
func fakeCloud(env cli.Env) *cobra.Command {
	var flags fakeCloudFlags
	cmd := &cobra.Command{
		Use:   "fake-cloud",
		Short: "Run the fake provider's cloud by itself, for controllers to use",
		Long: `Holds what controllers apply, serves it from this machine, and answers the fake
cloud's API on a Unix socket: gateways go on serving while a controller is stopped,
killed or replaced, as with a real cloud. A controller needs the socket's address and
the token, which are printed.

It ends with SIGTERM after the requests in flight. Started again with the same state,
even after kill -9, it has the same gateways, addresses and certificates.`,
		Example: `  gatehouse fake-cloud --state /var/lib/gatehouse-cloud
  gatehouse-controller-manager --fake-cloud unix:///var/lib/gatehouse-cloud/cloud.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.server.Log = logOf(cmd, env)
			return flags.run(cmd.Context(), env)
		},
	}
	flags.addTo(cmd)
	return cmd
}

func (f *fakeCloudFlags) addTo(cmd *cobra.Command) {
	add := cmd.Flags()
	add.StringVar(&f.server.StateDir, "state", "", "directory of what the cloud holds, keys included (required)")
	add.StringVar(&f.server.Socket, "socket", "", "where to listen; its directory must be closed to others (default cloud.sock in the state directory)")
	add.StringVar(&f.server.TokenFile, "token", "", "file of the token that callers must present, made if it is not there (default the socket's path and .token)")
	add.StringSliceVar(&f.pool, "address-pool", nil, "prefixes that gateways may have addresses of (default any)")
	add.StringVar(&f.ports, "ports", "free-if-denied", "which port to bind for a listener's: exact, free, or free-if-denied (any free one where the system denies it)")
	add.StringVar(&f.accessLog, "access-log", "", "file to append a line of JSON to for each request; - is the standard output")
	add.DurationVar(&f.server.DrainTimeout, "drain", 30*time.Second, "how long requests in flight may last at the end")
	add.BoolVar(&f.server.Faults, "faults", false, "let callers make calls fail, for tests")
	add.StringVarP(&f.output, "output", "o", "text", "text or json: how to print where it listens")
	_ = cmd.MarkFlagRequired("state") // it is there
}

// portsOf reads --ports.
func portsOf(text string) (dataplane.Ports, error) {
	known := map[string]dataplane.Ports{"exact": dataplane.PortsExact, "free": dataplane.PortsFree, "free-if-denied": dataplane.PortsFreeIfDenied}
	ports, ok := known[text]
	if !ok {
		return 0, fmt.Errorf("--ports %q: want exact, free or free-if-denied", text)
	}
	return ports, nil
}

// read turns texts into the server's values.
func (f *fakeCloudFlags) read() error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	for _, text := range f.pool {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--address-pool %q: want prefixes such as 198.18.0.0/16", text)
		}
		f.server.AddressPool = append(f.server.AddressPool, prefix.Masked())
	}
	var err error
	f.server.Ports, err = portsOf(f.ports)
	return err
}

func (f *fakeCloudFlags) run(ctx context.Context, env cli.Env) error {
	if err := f.read(); err != nil {
		return err
	}
	access, err := openAccessLog(f.accessLog, env.Out)
	if err != nil {
		return err
	}
	f.server.AccessLog = access
	server, err := remote.Start(ctx, f.server)
	if err != nil {
		return err
	}
	told := f.tell(server, env.Out)
	if told != nil { // nobody reads where it is: end, in good order
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	return errors.Join(told, server.Run(ctx))
}

// openAccessLog opens the file; nil is none. Whoever rotates it copies and truncates.
func openAccessLog(name string, out io.Writer) (io.Writer, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return out, nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--access-log: %w", err)
	}
	return file, nil // open as long as the process: there is no write that it could hold back
}

// listening is what -o json prints.
type listening struct {
	Address   string         `json:"address"`
	TokenFile string         `json:"tokenFile"`
	StateDir  string         `json:"stateDir"`
	Gateways  []remote.Bound `json:"gateways"`
}

// tell says in one piece where the server listens.
func (f *fakeCloudFlags) tell(s *remote.Server, out io.Writer) error {
	text, err := f.text(listening{Address: s.Address(), TokenFile: s.TokenFile(), StateDir: f.server.StateDir, Gateways: s.Bound()})
	if err == nil {
		_, err = fmt.Fprintln(out, text)
	}
	return err
}

func (f *fakeCloudFlags) text(now listening) (string, error) {
	if f.output == "json" {
		text, err := json.Marshal(now, jsontext.WithIndent("  "))
		return string(text), err
	}
	lines := []string{"The fake cloud answers at " + now.Address, "token " + now.TokenFile + ", state " + now.StateDir}
	for _, b := range now.Gateways {
		lines = append(lines, fmt.Sprintf("%s is served again: %s %d at %s", b.Owner, b.Protocol, b.Port, b.Addr))
	}
	return strings.Join(lines, "\n"), nil
}
