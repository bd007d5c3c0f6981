package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// component is a server of the cluster that runs as a process: etcd, the API
// server, the controller manager.
type component struct {
	name string
	path string
	args []string
	log  string // the file that holds its output

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// start runs the program. Its output goes on at the end of its log.
func (p *component) start() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // the process has its own
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Dir = filepath.Dir(p.log)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // how it ended is in its state
		close(done)
	}(p.cmd, p.done)
	return nil
}

// ready asks until the answer is nil. A component that ends, or is not ready
// when the context ends, is an error with the end of its log.
func (p *component) ready(ctx context.Context, ask func(context.Context) error) error {
	for {
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := ask(one)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended (%s); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, p.tail(40))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w); the end of %s:\n%s", p.name, err, p.log, p.tail(40))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop sends a signal, and the last one when the process is still there after
// the grace. A component that does not run is stopped.
func (p *component) stop(s syscall.Signal, grace time.Duration) {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(s) // ended already
	select {
	case <-p.done:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// tail is the last lines of the log.
func (p *component) tail(lines int) []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], nil)
}
