package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
)

// agents is the SPIFFE agent of a script, under this name in its values.
type agents struct {
	mesh  *ca.CA
	agent *spiffe.Agent
}

const agentValue = "agent"

// agent start FILE: starts a SPIFFE agent with the roots of example.org, and replaces
// SOCKET of a file of manifests by where it is. agent rotate: it knows one root more.
// agent stop: nobody answers there any more.
func agent(ts *testscript.TestScript, neg bool, args []string) {
	a := ts.Value(agentValue).(*agents)
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: agent start FILE | rotate | stop")
	case args[0] == "start" && len(args) == 2:
		dir, err := os.MkdirTemp("", "a") // a socket's path must be short
		ts.Check(err)
		ts.Defer(func() { os.RemoveAll(dir) })
		a.mesh, err = ca.New(ca.Config{})
		ts.Check(err)
		a.agent, err = spiffe.StartAgent(spiffe.AgentConfig{CA: a.mesh, Entries: []spiffe.Entry{{Path: "/gatehouse"}}, Socket: filepath.Join(dir, "s")})
		ts.Check(err)
		ts.Defer(func() { a.agent.Close() })
		write(ts, args[1], strings.ReplaceAll(ts.ReadFile(args[1]), "SOCKET", a.agent.Addr()))
	case args[0] == "rotate":
		ts.Check(a.mesh.Add(ca.Root{Name: "b"}))
	case args[0] == "stop":
		ts.Check(a.agent.Close())
	}
}
