package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gatehouse.dev/test/cluster/kubelet"
)

// inside marks the process that already has namespaces of its own.
const inside = "GATEHOUSE_TEST_NAMESPACE"

// Main is what TestMain calls instead of m.Run. It runs the tests in a child
// process with network, mount and process namespaces of its own, which all end
// with it: no address, route, mount or process of the tests outlives them, and
// none can clash with what else runs on the machine.
//
// As another user than root it takes a user namespace too. Where the kernel
// refuses that, the tests fail and say so.
func Main(m *testing.M) {
	Enter()
	os.Exit(m.Run())
}

// Enter is Main for programs that are not tests: it returns in the process that
// has the namespaces, and never in the one that was started.
func Enter() {
	kubelet.Init()
	if os.Getenv(inside) == "" {
		os.Exit(reexec())
	}
	if err := prepare(); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: the test network cannot be made: %v\n", err)
		os.Exit(1)
	}
}

// reexec runs this program again in new namespaces and returns its exit code.
func reexec() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = namespaces()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: no namespaces for the tests: %v (run as root, or allow user namespaces)\n", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended meanwhile
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1) // -1, by a signal, is a failure too
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		return 1
	}
	return 0
}

// namespaces asks for all that the tests need. Setpgid is not set: a terminal's
// interrupt reaches the child by itself.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  unix.SIGKILL,
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// prepare makes mounts private and the network of the tests.
func prepare() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// Without these, /proc and /sys go on showing the machine's. Some containers
	// forbid mounting them; nothing here needs more than /proc/self.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	_ = unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
	return network()
}
