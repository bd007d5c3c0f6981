package kubelet

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// devices are what programs may expect in /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}

// lastWordsMax bounds what a container may say about its own end.
const lastWordsMax = 4096

// task says how the container's program runs now: environment and files as they
// are at this moment, in a fresh root folder.
func (c *container) task() (task, error) {
	program, ok := c.worker.kubelet.config.Images[c.spec.Image]
	if !ok {
		return task{}, &problem{reason: "ErrImagePull", err: fmt.Errorf("no program for image %q: give one in cluster.Config", c.spec.Image)}
	}
	env, err := c.environment()
	if err != nil {
		return task{}, &problem{reason: "CreateContainerConfigError", err: err}
	}
	mounts, err := c.mounts()
	if err != nil {
		return task{}, &problem{reason: "CreateContainerConfigError", err: err}
	}
	if err := c.newRoot(); err != nil {
		return task{}, err
	}
	at := path.Join("/bin", filepath.Base(program))
	command := c.spec.Command
	if len(command) == 0 {
		command = []string{at}
	}
	t := task{
		Root: c.root(), Program: at, Env: env.list(), Dir: "/",
		Args:     env.expandAll(append(append([]string{}, command...), c.spec.Args...)),
		Hostname: c.hostname(),
		Mounts:   append([]mount{{Source: program, Target: at, ReadOnly: true}}, mounts...),
	}
	for _, d := range devices {
		t.Mounts = append(t.Mounts, mount{Source: d, Target: d})
	}
	if c.spec.WorkingDir != "" {
		t.Dir = c.spec.WorkingDir
	}
	c.security(&t)
	return t, nil
}

// security applies what of the security contexts means something here.
func (c *container) security(t *task) {
	if s := c.worker.latest().Spec.SecurityContext; s != nil {
		t.User, t.Group = s.RunAsUser, s.RunAsGroup
	}
	if s := c.spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			t.User = s.RunAsUser
		}
		if s.RunAsGroup != nil {
			t.Group = s.RunAsGroup
		}
		t.ReadOnly = s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
	}
}

func (c *container) root() string { return filepath.Join(c.worker.dir, c.spec.Name+".root") }

// lastWordsPath is where the program writes its termination message.
func (c *container) lastWordsPath() string {
	return filepath.Join(c.worker.dir, c.spec.Name+".termination")
}

// newRoot makes the root folder anew, as a container's first layer is.
func (c *container) newRoot() error {
	root := c.root()
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	for dir, mode := range map[string]os.FileMode{"tmp": 0o1777, "etc": 0o755, "var/run": 0o755, c.spec.WorkingDir: 0o755} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(root, dir), mode|os.ModeSticky&mode); err != nil {
			return err
		}
	}
	hosts := "127.0.0.1 localhost\n::1 localhost\n"
	for _, a := range c.worker.ips() {
		hosts += a + " " + c.hostname() + "\n"
	}
	for name, text := range map[string]string{"etc/hosts": hosts, "etc/hostname": c.hostname() + "\n", "etc/resolv.conf": "", "etc/passwd": "root:x:0:0::/:\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.lastWordsPath(), nil, 0o666); err != nil {
		return err
	}
	return os.Chmod(c.lastWordsPath(), 0o666) // whatever the umask
}

func (c *container) hostname() string {
	if h := c.worker.latest().Spec.Hostname; h != "" {
		return h
	}
	return c.worker.name[:min(len(c.worker.name), 63)]
}

// mounts are the volumes at the container's paths.
func (c *container) mounts() ([]mount, error) {
	target := c.spec.TerminationMessagePath
	if target == "" {
		target = corev1.TerminationMessagePathDefault
	}
	out := []mount{{Source: c.lastWordsPath(), Target: target}}
	for _, m := range c.spec.VolumeMounts {
		source := filepath.Join(c.worker.volumeDir(m.Name), m.SubPath)
		if !within(c.worker.volumeDir(m.Name), source) {
			return nil, fmt.Errorf("volumeMounts %s: subPath %q leaves the volume", m.Name, m.SubPath)
		}
		if m.SubPath != "" {
			if err := c.worker.subPath(m, source); err != nil {
				return nil, err
			}
		}
		out = append(out, mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly || c.worker.fixed(m.Name)})
	}
	return out, nil
}

func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, dir+string(filepath.Separator))
}

// lastWords is the termination message.
func (c *container) lastWords() string {
	text, err := os.ReadFile(c.lastWordsPath())
	if err != nil {
		return ""
	}
	return string(text[:min(len(text), lastWordsMax)])
}
