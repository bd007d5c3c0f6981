//go:build e2e

package realmesh

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

const (
	domain       = "example.org"
	gatewayID    = "spiffe://example.org/gatehouse/edge"
	cartID       = "spiffe://example.org/apps/cart"
	agentID      = "spiffe://example.org/agent"
	bundleServer = "127.0.0.1:18443"
)

// The profiles of the bundle endpoint, as SPIRE's configuration has them.
const (
	profileSPIFFE = `profile "https_spiffe" {}`
	profileWeb    = `profile "https_web" { serving_cert_file { cert_file_path = "%[1]s/web.crt" key_file_path = "%[1]s/web.key" file_sync_interval = "1s" } }`
)

const serverConfig = `
server {
  bind_address = "127.0.0.1"
  bind_port = "18081"
  socket_path = "%[1]s/server.sock"
  trust_domain = "example.org"
  data_dir = "%[1]s"
  ca_ttl = "24h"
  default_x509_svid_ttl = "1h"
  federation { bundle_endpoint { address = "127.0.0.1" port = 18443 refresh_hint = "60s" %[2]s } }
}
plugins {
  DataStore "sql" { plugin_data { database_type = "sqlite3" connection_string = "%[1]s/store.sqlite3" } }
  NodeAttestor "join_token" { plugin_data {} }
  KeyManager "disk" { plugin_data { keys_path = "%[1]s/keys.json" } }
}
`

const agentConfig = `
agent {
  data_dir = "%[1]s/agent"
  server_address = "127.0.0.1"
  server_port = "18081"
  socket_path = "%[1]s/agent.sock"
  trust_domain = "example.org"
  trust_bundle_path = "%[1]s/bundle.pem"
  join_token = "%[2]s"
  experimental { sync_interval = "1s" }
}
plugins {
  NodeAttestor "join_token" { plugin_data {} }
  KeyManager "memory" { plugin_data {} }
  WorkloadAttestor "unix" { plugin_data { discover_workload_path = true } }
}
`

// spire is a real server with an agent.
type spire struct {
	*testing.T
	dir     string
	server  *programs.Running
	program string
}

func startSPIRE(t *testing.T) *spire {
	t.Helper()
	s := &spire{T: t, dir: shortDir(t), program: binary(t, "spire-server")}
	s.serve(profileSPIFFE)
	figures.version(s.version(binary(t, "spire-agent")))
	write(t, filepath.Join(s.dir, "bundle.pem"), "%s", s.ask("bundle", "show"))
	var token struct{ Value string }
	s.json(&token, "token", "generate", "-spiffeID", agentID)
	write(t, filepath.Join(s.dir, "agent.conf"), agentConfig, s.dir, token.Value)
	programs.Run(t, "spire-agent", binary(t, "spire-agent"), "run", "-config", filepath.Join(s.dir, "agent.conf"))
	cluster.Eventually(t, time.Minute, func(ctx context.Context) error {
		return exec.CommandContext(ctx, binary(t, "spire-agent"), "healthcheck", "-socketPath", filepath.Join(s.dir, "agent.sock")).Run()
	})
	return s
}

// serve starts the server, with its bundle endpoint in a profile, in place of the one
// that runs.
func (s *spire) serve(profile string) {
	s.Helper()
	if s.server != nil {
		s.server.Signal(s.T, stopSignal)
	}
	if strings.Contains(profile, "%") {
		profile = fmt.Sprintf(profile, s.dir)
	}
	write(s, filepath.Join(s.dir, "server.conf"), serverConfig, s.dir, profile)
	s.server = programs.Run(s.T, "spire-server", s.program, "run", "-config", filepath.Join(s.dir, "server.conf"))
	cluster.Eventually(s.T, time.Minute, func(ctx context.Context) error {
		_, err := s.try(ctx, "healthcheck")
		return err
	})
}

func (s *spire) version(path string) string {
	s.Helper()
	out, err := exec.CommandContext(s.Context(), path, "-version").CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	return "SPIRE " + strings.TrimSpace(string(out))
}

// agent is the address of the Workload API.
func (s *spire) agent() string { return "unix://" + filepath.Join(s.dir, "agent.sock") }

// register has the agent know a program by its path.
func (s *spire) register(id, path string) {
	s.Helper()
	s.ask("entry", "create", "-parentID", agentID, "-spiffeID", id, "-selector", "unix:path:"+path)
}

// try runs a command of the server's own client.
func (s *spire) try(ctx context.Context, args ...string) ([]byte, error) {
	args = append(args, "-socketPath", filepath.Join(s.dir, "server.sock"))
	cmd := exec.CommandContext(ctx, s.program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("spire-server %s: %w: %s %s", strings.Join(args, " "), err, &said, out)
	}
	return out, err
}

func (s *spire) ask(args ...string) []byte {
	s.Helper()
	out, err := s.try(s.Context(), args...)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

func (s *spire) json(into any, args ...string) {
	s.Helper()
	out := s.ask(append(args, "-output", "json")...)
	if err := json.Unmarshal(out, into); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
}

// authority names one of the server's X.509 authorities.
type authority struct {
	ID string `json:"authority_id"`
}

// authorities are those that the server knows, by their states.
type authorities struct {
	Active, Prepared, Old *authority
}

// local runs a command on the server's authorities; id may be "".
func (s *spire) local(command, id string) {
	s.Helper()
	args := []string{"localauthority", "x509", command}
	if id != "" {
		args = append(args, "-authorityID", id)
	}
	s.ask(args...)
}

func (s *spire) authorities() (out authorities) {
	s.Helper()
	s.json(&out, "localauthority", "x509", "show")
	return out
}
