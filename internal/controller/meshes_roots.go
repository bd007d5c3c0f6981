package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/events"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
)

// rememberedName is the ConfigMap of what is remembered of meshes' roots.
const rememberedName = "gatehouse-roots"

// remembered is that record: the last good roots, and since when each is known. It is
// written by whoever leads, when that has changed. To lose it costs time and nothing
// else, so that what cannot be read of it is passed over.
type remembered struct {
	client             kubernetes.Interface
	namespace, cluster string
	entry              string // of the ConfigMap
	log                *slog.Logger

	digest  [sha256.Size]byte // of what is written
	written time.Time
	lost    atomic.Bool // somebody removed what was written
}

// read takes the record as it is.
func (r *remembered) read(ctx context.Context, now time.Time) rootsync.Memory {
	m, err := r.client.CoreV1().ConfigMaps(r.namespace).Get(ctx, rememberedName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && m.Data[r.entry] == "" {
		return rootsync.Memory{}
	}
	var out rootsync.Memory
	if err == nil {
		out, err = rootsync.Decode([]byte(m.Data[r.entry]), r.cluster, now)
	}
	if err != nil {
		r.log.Warn("what was remembered of meshes' roots is not used: they are read anew, and new certificates wait as for roots that were just published",
			"configmap", r.namespace+"/"+rememberedName, "entry", r.entry, "err", err)
		return rootsync.Memory{}
	}
	return out
}

// keep writes a memory, if it says something new or nobody wrote for long.
func (r *remembered) keep(ctx context.Context, m rootsync.Memory, now time.Time) error {
	digest := rootsync.Digest(m, now)
	lost := r.lost.Swap(false)
	if digest == r.digest && now.Sub(r.written) < rootsync.Restamp && !lost {
		return nil
	}
	if len(m.Bindings)+len(m.Bundles) == 0 && r.written.IsZero() {
		return nil // there is no mesh, and there was none
	}
	text, left, err := rootsync.Encode(m, r.cluster, now)
	if err == nil {
		err = r.write(ctx, string(text))
	}
	if err != nil {
		r.lost.Store(lost)
		return fmt.Errorf("ConfigMap %s/%s, which has what is known of meshes' roots, cannot be written: %w%s", r.namespace, rememberedName, err, repairOf(err))
	}
	if len(left) > 0 && digest != r.digest {
		r.log.Warn("not all roots fit into the record; these begin anew after a restart", "configmap", r.namespace+"/"+rememberedName, "left", left)
	}
	r.digest, r.written = digest, now
	return nil
}

// repairOf is what somebody can do about a record that cannot be written.
func repairOf(err error) string {
	const until = ". Until then a manager that starts waits with new certificates as for roots that were just published, and cannot tell an older bundle"
	switch {
	case apierrors.IsInvalid(err):
		return "; it may be immutable: delete it, and it is made anew at once" + until
	case apierrors.IsForbidden(err):
		return "; give the manager what Role gatehouse-controller-manager of deploy/rbac.yaml has" + until
	default:
		return ""
	}
}

func (r *remembered) write(ctx context.Context, text string) error {
	body, err := json.Marshal(map[string]any{"data": map[string]string{r.entry: text}})
	if err != nil {
		return err
	}
	all := r.client.CoreV1().ConfigMaps(r.namespace)
	_, err = all.Patch(ctx, rememberedName, types.MergePatchType, body, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if apierrors.IsNotFound(err) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: rememberedName}, Data: map[string]string{r.entry: text}}
		_, err = all.Create(ctx, m, metav1.CreateOptions{FieldManager: kube.FieldManager})
	}
	return err
}

// consulToken reads the token that a MeshBinding names, from a Secret of our own
// namespace that is of the type for it.
func consulToken(client kubernetes.Interface, namespace string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return "", fmt.Errorf("it is not in namespace %s", namespace)
		case err != nil:
			return "", err
		case secret.Type != v1alpha1.SecretTypeConsulToken:
			return "", errors.New("it is not of type " + v1alpha1.SecretTypeConsulToken + ", and no other is sent anywhere")
		}
		token := strings.TrimSpace(string(secret.Data["token"]))
		if token == "" {
			return "", errors.New("it has no entry token")
		}
		return token, nil
	}
}

// recall takes up what the leader before knew.
func (m *Meshes) recall(ctx context.Context, controllers []string, log *slog.Logger) {
	m.remembered.entry, m.remembered.log = rootsync.EntryName(m.remembered.cluster, controllers), log
	memory := m.remembered.read(ctx, m.clock())
	m.members.Recall(memory.Bindings)
	m.roots.Recall(memory.Bundles)
}

// remember writes down what the next leader shall know.
func (m *Meshes) remember(ctx context.Context) error {
	return m.remembered.keep(ctx, rootsync.Memory{Bindings: m.members.Remember(), Bundles: m.roots.Remember()}, m.clock())
}

// recall is Meshes.recall.
func (c *Controller) recall(ctx context.Context) {
	if m := c.config.Meshes; m != nil {
		m.recall(ctx, slices.Collect(maps.Keys(c.options.Controllers)), c.config.Log)
	}
}

// remember is Meshes.remember, by who leads.
func (c *Controller) remember(ctx context.Context) error {
	if c.config.Meshes == nil {
		return nil
	}
	c.work.AddAfter(meshItem, rootsync.Restamp)
	err := c.config.Meshes.remember(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, b := range c.loop.Index().Bounds() {
		c.events.Tell(c.reference(translate.Key{Kind: translate.KindMeshBinding, Name: b.Binding.Name}, b.Binding), events.RecordFailed, err.Error())
	}
	return err
}

// recordGone has the record written anew that somebody removed.
func (c *Controller) recordGone(change translate.Change) {
	m := c.config.Meshes
	if m == nil || !slices.Contains(change.Delete, translate.Key{Kind: translate.KindConfigMap, Namespace: m.namespace, Name: rememberedName}) {
		return
	}
	m.remembered.lost.Store(true)
	c.meshSoon()
}

// readRoots reads the roots that no object has, until ctx ends. What it finds goes the
// way of every other change.
func (c *Controller) readRoots(ctx context.Context) {
	m := c.config.Meshes
	if m == nil {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { m.roots.Run(ctx) })
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			m.roots.Close()
			return
		case <-m.roots.Changed():
			c.source.Nudge()
		}
	}
}

// want has the places asked that bindings name now.
func (c *Controller) want() {
	if m := c.config.Meshes; m != nil {
		m.roots.Want(c.loop.Index().Bounds())
	}
}

// outside brings what is known of roots that no object has into the loop. It belongs to
// who takes batches.
func (c *Controller) outside() (_ reconcile.Followed, news bool) {
	if c.config.Meshes == nil {
		return reconcile.Followed{}, false
	}
	change := c.config.Meshes.roots.Change()
	if len(change.Put)+len(change.Delete) == 0 {
		return reconcile.Followed{}, false
	}
	return c.loop.Follow(change), true
}
