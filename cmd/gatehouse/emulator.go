package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli"
)

// fakes is `gatehouse fake`: emulators of clouds' own APIs.
func fakes(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fake",
		Short: "Run an emulator of a cloud's API on this machine",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(fakeAWS(env), fakeGCP(env))
	return cmd
}

// logOf is a command's own log: warnings, and more with each -v.
func logOf(cmd *cobra.Command, env cli.Env) *slog.Logger {
	level := slog.LevelWarn
	if n, err := cmd.Flags().GetCount("verbose"); err == nil { // the root's flag
		level -= slog.Level(4 * n)
	}
	return slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level}))
}

// checkOutput refuses formats that there are not.
func checkOutput(output string) error {
	if output != "text" && output != "json" {
		return fmt.Errorf("--output %q: want text or json", output)
	}
	return nil
}

// emulatorFlags are those of every emulator.
type emulatorFlags struct{ listen, world, output string }

// addTo adds them to a command. The world's fields are told, and what it is without.
func (f *emulatorFlags) addTo(cmd *cobra.Command, listen, world string) {
	add := cmd.Flags()
	add.StringVar(&f.listen, "listen", listen, "address and port; port 0 is any free one")
	add.StringVar(&f.world, "world", "", "file of the network, as JSON: "+world)
	add.StringVarP(&f.output, "output", "o", "text", "text or json: how to print where it listens")
}

// readWorld reads the file of the network, if there is one, and looks at it.
func (f *emulatorFlags) readWorld(into any, check func() error) error {
	if f.world == "" {
		return nil
	}
	text, err := os.ReadFile(f.world)
	if err == nil {
		err = json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	}
	if err == nil {
		err = check()
	}
	if err != nil {
		return fmt.Errorf("--world %s: %w", f.world, err)
	}
	return nil
}

// emulator is a cloud that serves until it is closed.
type emulator interface {
	http.Handler
	Close(ctx context.Context) error
}

// lastCalls is how long calls and traffic under way may last at the end.
const lastCalls = 10 * time.Second

// run serves an emulator until the context ends, once tell has said where it is.
func (f *emulatorFlags) run(ctx context.Context, log *slog.Logger, start func() emulator, tell func(endpoint string) error) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	cloud := start()
	// Calls that lose their reply on purpose end in a panic that net/http knows.
	server := &http.Server{Handler: cloud, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	err = tell("http://" + listener.Addr().String())
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
		}
	}
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCalls)
	defer cancel()
	return errors.Join(err, server.Shutdown(over), cloud.Close(over))
}

// print says in one piece how to use an emulator, as --output asks for.
func (f *emulatorFlags) print(out io.Writer, now any, text string) error {
	if f.output == "json" {
		asJSON, err := json.Marshal(now, jsontext.WithIndent("  "), json.Deterministic(true))
		if err != nil {
			return err
		}
		text = string(asJSON) + "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
