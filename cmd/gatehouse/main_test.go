//go:build unix

package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gatehouse.dev/fake/local"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gatehouse": func() {
			limitDisk(os.Getenv("GATEHOUSE_TEST_DISK"))
			os.Exit(run(local.Config{Intercept: saboteurFrom(os.Getenv)}))
		},
	})
}

// TestScripts runs the transcripts of internal/cli: each is a session at a
// terminal, with real processes, over examples/shop and files of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "internal", "cli", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "")
			env.Setenv("TERM", "xterm")
			env.Setenv("NL", "\n")
			env.Values[agentValue] = new(agents)
			for _, example := range []string{"shop", "service", "mesh", "aws", "gcp"} {
				if err := os.CopyFS(filepath.Join(env.WorkDir, example), os.DirFS(filepath.Join("..", "..", "examples", example))); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"edit":      edit,
			"shuffle":   shuffle,
			"bigfile":   bigfile,
			"crlf":      crlf,
			"swapkeys":  swapKeys,
			"ids":       ids,
			"request":   request,
			"rewrite":   rewrite,
			"occupy":    occupy,
			"empty":     empty,
			"apiserver": apiserver,
			"cluster":   cluster,
			"meshpod":   meshPod,
			"spireapp":  spireApp,
			"agent":     agent,

			"awsaccount": awsAccount,
			"awscalls":   awsCalls,
			"awsempty":   awsEmpty,
			"gcpproject": gcpProject,
			"gcpcalls":   gcpCalls,
			"gcpempty":   gcpEmpty,
		},
	})
}

// exits CODE COMMAND…: runs a command that must end with exactly this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
