package main

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/remote"
	"gatehouse.dev/internal/cli"
	"gatehouse.dev/lbmodel"
)

// Why: whoever starts it must learn, in one piece, how to reach it, and end it as any
// process is ended.
func TestFakeCloudCommand(t *testing.T) {
	dir, err := os.MkdirTemp("", "gh") //nolint:usetesting // its directories are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	out, in := io.Pipe()
	cmd := fakeCloud(cli.Env{Out: in, Err: io.Discard, Getenv: os.Getenv})
	cmd.SetArgs([]string{"--state", dir, "--access-log", filepath.Join(dir, "access"), "--address-pool", "127.75.0.0/16", "-o", "json"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	text := make([]byte, 4096)
	n, err := out.Read(text)
	var told listening
	if err != nil || json.Unmarshal(text[:n], &told) != nil {
		t.Fatalf("it tells %q: %v", text[:n], err)
	}
	r, err := remote.Open(remote.Config{Address: told.Address, TokenFile: told.TokenFile})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Provider.Observe(t.Context(), lbmodel.Owner{Cluster: "c"}, nil); err != nil {
		t.Errorf("it does not answer: %v", err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	if info, err := os.Stat(filepath.Join(dir, "access")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the access log: %v, %v", info, err)
	}
}

// Why: a mistake in a flag is told before anything is opened.
func TestFakeCloudFlags(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"no state", "", `required flag(s) "state" not set`},
		{"address pool", "--state x --address-pool 10.0.0.0", "want prefixes such as"},
		{"ports", "--state x --ports some", "want exact, free or free-if-denied"},
		{"output", "--state x -o yaml", "want text or json"},
		{"access log", "--state x --access-log /nowhere/log", "--access-log: open /nowhere/log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out bytes.Buffer
			cmd := fakeCloud(cli.Env{Out: &out, Err: &out, Getenv: os.Getenv})
			cmd.SetArgs(strings.Fields(c.args))
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Stat("x"); err == nil {
				t.Error("a state directory was made")
			}
		})
	}
}
