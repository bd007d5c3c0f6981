package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse.dev/test/cluster"
)

// The ServiceAccount of deploy/, with whose rights the manager runs.
const (
	managerNamespace = "gatehouse-system"
	managerAccount   = "gatehouse-controller-manager"
)

// root is the main module's folder.
var root = filepath.Join("..", "..")

// manage runs the manager beside the cluster, with the rights that are shipped
// and the fake cloud and its data plane inside, until the test ends.
func manage(t *testing.T, c *cluster.Cluster, program string) {
	t.Helper()
	for _, name := range []string{"namespace.yaml", "rbac.yaml"} {
		c.ApplyFile(t, filepath.Join(root, "deploy", name))
	}
	who, err := c.AsServiceAccount(t.Context(), managerNamespace, managerAccount)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(c.Dir(), "manager.kubeconfig")
	if err := c.WriteKubeconfig(kubeconfig, who); err != nil {
		t.Fatal(err)
	}
	run(t, program, "--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--leader-elect-resource-namespace="+managerNamespace, "--authentication-skip-lookup=true",
		"--bind-address=127.0.0.1", "--cluster-name=conformance")
}

// managerProgram builds the manager as it is shipped: in the main module, with
// that module's versions and not with the suite's.
func managerProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), "gatehouse-conformance", "manager")
	cmd := exec.Command("go", "build", "-C", root, "-ldflags=-s -w", "-o", path, "./cmd/gatehouse-controller-manager")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, out)
	}
	return path
}

// run starts a program, whose output is shown when the test has failed.
func run(t *testing.T, path string, args ...string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(path)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		defer out.Close()
		select {
		case err := <-ended:
			t.Errorf("%s ended before the test did: %v", path, err)
		default:
			end(t, cmd, ended)
		}
		if t.Failed() {
			showEnd(t, out.Name())
		}
	})
}

// end asks a process to end, and ends it when it does not.
func end(t *testing.T, cmd *exec.Cmd, ended <-chan error) {
	t.Helper()
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Errorf("%s: %v", cmd.Path, err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Errorf("%s does not end within 30 s of being asked to", cmd.Path)
		_ = cmd.Process.Kill() // it has ended meanwhile, or ends now
		<-ended
	}
}

// showEnd shows the end of a log.
func showEnd(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	t.Logf("the end of %s:\n%s", filepath.Base(path), text[max(0, len(text)-16<<10):])
}
