package mesh

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/internal/translate"
)

// status is what an object of any kind says.
type status struct {
	Conditions []metav1.Condition
	Parents    []struct{ Conditions []metav1.Condition }
}

// remember writes the statuses of the gateway and of the binding into the files, as
// a controller writes them into a cluster: what is said next depends on them.
func (w *world) remember(patches []translate.Patch) {
	w.Helper()
	for _, p := range patches {
		text, err := json.Marshal(p.Status)
		w.do(err)
		var s status
		w.do(json.Unmarshal(text, &s))
		w.status[p.Key] = s
		switch p.Key.Kind {
		case "Gateway":
			w.put("gateway", w.gatewayYAML()+"status: "+string(text)+"\n")
		case translate.KindMeshBinding:
			w.put("binding", w.bindingYAML()+"status: "+string(text)+"\n")
		}
	}
}

// The conditions that are looked at.
const (
	meshMember = "gatehouse.dev/MeshMember"
	backendTLS = "gatehouse.dev/BackendTLS"
)

// expect wants a condition of an object to be "Status/Reason", and words in its
// message.
func (w *world) expect(kind, condition, want string, words ...string) {
	w.Helper()
	for key, s := range w.status {
		if key.Kind != kind {
			continue
		}
		list := s.Conditions
		for _, p := range s.Parents {
			list = append(list, p.Conditions...)
		}
		i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == condition })
		if i < 0 {
			w.Errorf("%s has no condition %s, want %s", key, condition, want)
			return
		}
		if got := fmt.Sprintf("%s/%s", list[i].Status, list[i].Reason); got != want {
			w.Errorf("%s: %s is %s (%s), want %s", key, condition, got, list[i].Message, want)
		}
		for _, word := range words {
			if !strings.Contains(list[i].Message, word) {
				w.Errorf("%s: %s says %q, want %q in it", key, condition, list[i].Message, word)
			}
		}
		return
	}
	w.Errorf("no %s has a status", kind)
}

// troubles are the backends that the data plane does not believe.
type troubles struct {
	mu  sync.Mutex
	all []dataplane.Trouble
}

func (t *troubles) add(one dataplane.Trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, one)
}

// has says whether one was told for a reason.
func (t *troubles) has(reason dataplane.Reason) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.all, func(one dataplane.Trouble) bool { return one.Reason == reason })
}
