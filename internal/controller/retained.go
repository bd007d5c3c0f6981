package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// retainedName is the ConfigMap of the record.
const retainedName = "gatehouse-retained"

// retained is the record of owners whose resources are not to be deleted with their
// object (deletion: Retain, Protect). It outlives the objects: without it their
// resources would look like those of an object that was removed by force while
// nobody watched, and be collected.
type retained struct {
	client    kubernetes.Interface
	namespace string
	cluster   string

	mu      sync.Mutex
	entries map[string]keep // by UID
}

// keep is one entry, as the ConfigMap has it under the owner's UID.
type keep struct {
	Owner    lbmodel.Owner    `json:"owner"`
	Provider string           `json:"provider"`
	Deletion lbmodel.Deletion `json:"deletion"`
}

// stays says whether an owner's resources outlive its object.
func (k keep) stays() bool {
	return k.Deletion == lbmodel.DeletionRetain || k.Deletion == lbmodel.DeletionProtect
}

func newRetained(client kubernetes.Interface, namespace, cluster string) *retained {
	return &retained{client: client, namespace: namespace, cluster: cluster, entries: map[string]keep{}}
}

// read takes the record as it is. An entry that cannot be understood is an error:
// it may protect something.
func (r *retained) read(ctx context.Context) error {
	m, err := r.client.CoreV1().ConfigMaps(r.namespace).Get(ctx, retainedName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record of retained gateways: %w", err)
	}
	entries := map[string]keep{}
	for uid, text := range m.Data {
		var k keep
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			return fmt.Errorf("ConfigMap %s/%s, data %q cannot be read: repair it, or remove the entry so that what is left of that owner is collected: %w",
				r.namespace, retainedName, uid, err)
		}
		entries[uid] = k
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = entries
	return nil
}

// has says whether an owner's resources stay.
func (r *retained) has(owner lbmodel.Owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, there := r.entries[owner.UID]
	return there && k.Owner == owner
}

// of are the owners in the record of one cluster's name and one of some providers:
// another manager may keep its own beside them.
func (r *retained) of(accounts map[string]*providers.Account) []lbmodel.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []lbmodel.Owner
	for _, k := range r.entries {
		if accounts[k.Provider] != nil && k.Owner.Cluster == r.cluster {
			out = append(out, k.Owner)
		}
	}
	return out
}

// note makes the record say what becomes of an owner's resources. It costs a call
// only when that is news.
func (r *retained) note(ctx context.Context, k keep) error {
	r.mu.Lock()
	have, there := r.entries[k.Owner.UID]
	r.mu.Unlock()
	if k.stays() && have == k || !k.stays() && !there {
		return nil
	}
	if !k.stays() {
		return r.forget(ctx, k.Owner)
	}
	text, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("record of retained gateways: %w", err)
	}
	if err := r.patch(ctx, k.Owner.UID, string(text)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[k.Owner.UID] = k
	return nil
}

// forget takes an owner out of the record.
func (r *retained) forget(ctx context.Context, owner lbmodel.Owner) error {
	if err := r.patch(ctx, owner.UID, nil); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, owner.UID)
	return nil
}

func (r *retained) patch(ctx context.Context, uid string, value any) error {
	body, err := json.Marshal(map[string]any{"data": map[string]any{uid: value}})
	if err != nil {
		return fmt.Errorf("record of retained gateways: %w", err)
	}
	maps := r.client.CoreV1().ConfigMaps(r.namespace)
	_, err = maps.Patch(ctx, retainedName, types.MergePatchType, body, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if text, set := value.(string); apierrors.IsNotFound(err) && set {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: retainedName}, Data: map[string]string{uid: text}}
		_, err = maps.Create(ctx, m, metav1.CreateOptions{FieldManager: kube.FieldManager})
	}
	if err == nil || value == nil && apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("record of retained gateways: %w", err)
}
