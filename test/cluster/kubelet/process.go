package kubelet

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// helper is the name under which this program runs as the first process of a
// container, until the container's program takes its place.
const helper = "gatehouse-container"

// task is what the helper does: everything between a new process and the
// container's program.
type task struct {
	Root     string // the container's root folder
	Program  string // as seen in it
	Args     []string
	Env      []string
	Dir      string // working folder
	Hostname string
	Network  bool // file 3 is the network namespace to enter
	Mounts   []mount
	User     *int64
	Group    *int64
	ReadOnly bool // the root folder, mounts apart
}

// mount puts a file or folder of the machine into the root folder.
type mount struct {
	Source, Target string
	ReadOnly       bool
}

// process is a container's program that runs.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// start runs a task. The file of the task stays in the folder for those who look
// why a container did not start.
func (t task) start(path string, ns *os.File, out io.Writer) (*process, error) {
	if ns != nil {
		t.Network = true
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", path)
	cmd.Args[0] = helper
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Pdeathsig:  unix.SIGKILL,
	}
	if ns != nil {
		cmd.ExtraFiles = []*os.File{ns}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its state
		close(p.done)
	}()
	return p, nil
}

// exit is the code of a process that has ended, 128 more than a signal, as
// container runtimes say it.
func (p *process) exit() (code, sig int32) {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int32(status.Signal()), int32(status.Signal())
	}
	return int32(p.cmd.ProcessState.ExitCode()), 0
}

// Init must be called first by every program that uses this package: the program
// also is the helper that starts each container. It does not return there.
func Init() {
	if os.Args[0] != helper {
		return
	}
	// The namespaces belong to this thread, which becomes the program.
	runtime.LockOSThread()
	err := become(os.Args[1])
	fmt.Fprintf(os.Stderr, "the container cannot start: %v\n", err)
	os.Exit(128)
}

// become turns this process into the container's program.
func become(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var t task
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(t.Hostname)); err != nil {
		return fmt.Errorf("hostname: %w", err)
	}
	if t.Network {
		if err := unix.Setns(3, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("network: %w", err)
		}
		unix.CloseOnExec(3)
		// As container runtimes do: any user may have the low ports.
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
			return err
		}
	}
	if !manyUsers() {
		t.User, t.Group = nil, nil
	}
	if err := t.mount(); err != nil {
		return err
	}
	if err := unix.Chroot(t.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if err := unix.Chdir(t.Dir); err != nil {
		return fmt.Errorf("working folder %s: %w", t.Dir, err)
	}
	if err := t.identity(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", t.Program, unix.Exec(t.Program, t.Args, t.Env))
}

// mount builds the container's view of files, in a mount namespace of its own.
func (t task) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := bind(t.Root, t.Root); err != nil {
		return err
	}
	for _, m := range t.Mounts {
		target := filepath.Join(t.Root, m.Target)
		if err := point(m.Source, target); err != nil {
			return fmt.Errorf("mount %s: %w", m.Target, err)
		}
		if err := bind(m.Source, target); err != nil {
			return err
		}
		if err := readOnly(target, m.ReadOnly); err != nil {
			return err
		}
	}
	proc := filepath.Join(t.Root, "proc")
	if err := os.MkdirAll(proc, 0o755); err != nil {
		return err
	}
	// A container that hides parts of /proc does not let us mount a whole one;
	// programs of tests can do without.
	_ = unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return readOnly(t.Root, t.ReadOnly)
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// readOnly forbids writes through a mount, if so asked.
func readOnly(target string, yes bool) error { //nolint:revive // a boolean of the API
	if !yes {
		return nil
	}
	// In a user namespace the flags of the mount below must stay.
	var have unix.Statfs_t
	if err := unix.Statfs(target, &have); err != nil {
		return err
	}
	flags := uintptr(have.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("mount %s read-only: %w", target, err)
	}
	return nil
}

// point makes what a mount covers: an empty file or a folder.
func point(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// identity drops root where the pod says so. A change of user forgets that the process ends with its parent: it is
// told again.
func (t task) identity() error {
	if t.User == nil && t.Group == nil {
		return nil
	}
	if t.Group != nil {
		if err := unix.Setgroups([]int{int(*t.Group)}); err != nil {
			return fmt.Errorf("group: %w", err)
		}
		if err := unix.Setresgid(int(*t.Group), int(*t.Group), int(*t.Group)); err != nil {
			return fmt.Errorf("group %d: %w", *t.Group, err)
		}
	}
	if t.User != nil {
		if err := unix.Setresuid(int(*t.User), int(*t.User), int(*t.User)); err != nil {
			return fmt.Errorf("user %d: %w", *t.User, err)
		}
	}
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// manyUsers tells whether the user namespace maps more than one user.
func manyUsers() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	var inside, outside, count string
	if err != nil {
		return false
	}
	if _, err := fmt.Sscan(string(text), &inside, &outside, &count); err != nil {
		return false
	}
	n, err := strconv.ParseInt(count, 10, 64)
	return err == nil && n > 1
}
