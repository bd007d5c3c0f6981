package kubelet

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Between a crash and the next start. A real kubelet begins with ten seconds.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 10 * time.Second
	// steady is how long a program must have run for its crashes to be forgotten.
	steady = 30 * time.Second
)

// container runs one container of a pod, again and again as its policy says.
type container struct {
	worker *worker
	spec   *corev1.Container

	mu       sync.Mutex
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	ready    bool
	started  bool
	starts   chan struct{} // closed when started for the first time, or never to be
	process  *process
}

func newContainer(w *worker, spec *corev1.Container) *container {
	c := &container{worker: w, spec: spec, starts: make(chan struct{})}
	c.state.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	return c
}

func (c *container) sidecar() bool {
	return c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// change changes the state and has it reported.
func (c *container) change(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	c.worker.touch()
}

// run keeps the container running until its policy says that it is done or the
// life ends; then it stops the program with grace.
func (c *container) run(life context.Context, policy corev1.RestartPolicy) {
	delay := backoffFirst
	for life.Err() == nil {
		begun := time.Now()
		p, err := c.start()
		if err != nil {
			if !c.refuse(life, err) {
				return
			}
			continue
		}
		c.attend(life, p)
		code := c.exited(p, begun)
		if life.Err() != nil || policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && code == 0 {
			return
		}
		if time.Since(begun) > steady {
			delay = backoffFirst
		}
		if !c.backoff(life, delay) {
			return
		}
		delay = min(2*delay, backoffMax)
	}
}

// problem is why a container cannot start, in the word of the status.
type problem struct {
	reason string
	err    error
}

func (p *problem) Error() string { return p.err.Error() }

func (p *problem) Unwrap() error { return p.err }

// refuse says why the container does not start, and waits to try again.
func (c *container) refuse(life context.Context, err error) bool {
	reason := "CreateContainerError"
	if p, ok := err.(*problem); ok { //nolint:errorlint // start returns it bare
		reason = p.reason
	}
	fresh := c.state.Waiting == nil || c.state.Waiting.Message != err.Error()
	c.change(func() {
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: err.Error()}}
	})
	if fresh {
		c.worker.event(corev1.EventTypeWarning, "Failed", fmt.Sprintf("container %s: %v", c.spec.Name, err))
	}
	return sleep(life, time.Second)
}

// start starts the program.
func (c *container) start() (*process, error) {
	t, err := c.task()
	if err != nil {
		return nil, err
	}
	out, err := c.worker.kubelet.openLog(c.logName(c.restarts))
	if err != nil {
		return nil, err
	}
	c.worker.mu.Lock()
	ns := c.worker.sandbox.ns
	c.worker.mu.Unlock()
	p, err := t.start(filepath.Join(c.worker.dir, c.spec.Name+".json"), ns, out)
	if err != nil {
		_ = out.Close() // the error of the start says more
		return nil, err
	}
	go func() {
		<-p.done
		_ = out.Close() // a log that lost its end fails the test that reads it
	}()
	c.change(func() {
		c.process = p
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		if c.spec.StartupProbe == nil {
			c.begin()
		}
	})
	return p, nil
}

// begin marks the container as started. The caller holds the lock.
func (c *container) begin() {
	c.started = true
	closeOnce(c.starts)
}

// attend probes a program until it ends, and stops it when the life ends.
func (c *container) attend(life context.Context, p *process) {
	probing, enough := context.WithCancel(context.Background())
	var probes sync.WaitGroup
	probes.Go(func() { c.watchReadiness(probing) })
	probes.Go(func() { c.watchHealth(life, probing, p) })
	select {
	case <-p.done:
	case <-life.Done():
		c.stop(p)
	}
	enough()
	probes.Wait()
}

// stop asks the program to end, waits as long as the pod grants, and kills it.
// Readiness goes on being watched meanwhile, as in a real kubelet: that a pod is
// going away is told by its deletion time, not by its condition.
func (c *container) stop(p *process) {
	pod := c.worker.latest()
	grace := 30 * time.Second
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	over := c.worker.kubelet.ctx.Done()
	if d := c.beforeStop(); d > 0 {
		select {
		case <-time.After(min(d, grace)):
		case <-p.done:
		case <-over:
		case <-c.worker.killed:
		}
	}
	_ = p.cmd.Process.Signal(unix.SIGTERM) // it may have ended
	select {
	case <-p.done:
		return
	case <-deadline.C:
	case <-over:
	case <-c.worker.killed:
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}

// beforeStop is how long the pod's preStop hook sleeps. Other hooks are refused.
func (c *container) beforeStop() time.Duration {
	l := c.spec.Lifecycle
	if l == nil || l.PreStop == nil {
		return 0
	}
	if l.PreStop.Sleep == nil {
		c.worker.event(corev1.EventTypeWarning, "FailedPreStopHook", "container "+c.spec.Name+": this kubelet knows only sleep")
		return 0
	}
	return time.Duration(l.PreStop.Sleep.Seconds) * time.Second
}

// exited notes the end of a program and returns its code.
func (c *container) exited(p *process, begun time.Time) int32 {
	code, sig := p.exit()
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	c.change(func() {
		c.process = nil
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Signal: sig, Reason: reason, StartedAt: metav1.NewTime(begun), FinishedAt: metav1.Now(),
			Message: c.lastWords(), ContainerID: c.id(c.restarts),
		}}
	})
	return code
}

// backoff waits before the next start.
func (c *container) backoff(life context.Context, d time.Duration) bool {
	c.change(func() {
		c.last = c.state
		c.restarts++
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %v restarting failed container=%s", d, c.spec.Name),
		}}
	})
	c.worker.event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container "+c.spec.Name)
	return sleep(life, d)
}

// succeeded tells whether the last program ended well.
func (c *container) succeeded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
}

// waitStarted waits for a sidecar's first start.
func (c *container) waitStarted(life context.Context) bool {
	select {
	case <-c.starts:
		return true
	case <-life.Done():
		return false
	}
}

// id is the container's identity in the status.
func (c *container) id(n int32) string {
	return fmt.Sprintf("process://%s/%s/%d", c.worker.uid, c.spec.Name, n)
}
