package mesh

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/internal/translate"
)

// status is what an object of any kind says.
type status struct {
	Conditions []metav1.Condition
	Parents    []struct{ Conditions []metav1.Condition }
	Roots      []struct{ State v1alpha1.RootState } // of a MeshBinding
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
	inSync     = "gatehouse.dev/InSync"
)

// condition is one of the first object of a kind.
func (w *world) condition(kind, name string) (key translate.Key, c metav1.Condition) {
	w.Helper()
	for key, s := range w.status {
		if key.Kind != kind {
			continue
		}
		list := s.Conditions
		for _, p := range s.Parents {
			list = append(list, p.Conditions...)
		}
		i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == name })
		if i < 0 {
			w.Errorf("%s has no condition %s", key, name)
			return key, metav1.Condition{}
		}
		return key, list[i]
	}
	w.Errorf("no %s has a status", kind)
	return key, c
}

// expect wants a condition of an object to be "Status/Reason", and words in its
// message.
func (w *world) expect(kind, name, want string, words ...string) {
	w.Helper()
	key, c := w.condition(kind, name)
	if got := fmt.Sprintf("%s/%s", c.Status, c.Reason); got != want {
		w.Errorf("%s: %s is %s (%s), want %s", key, name, got, c.Message, want)
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.Errorf("%s: %s says %q, want %q in it", key, name, c.Message, word)
		}
	}
}

// exactly wants a condition to be "Status/Reason: message", where "…" stands for a time,
// a number or a name that is another in each run.
func (w *world) exactly(kind, name, want string) {
	w.Helper()
	key, c := w.condition(kind, name)
	got := fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message)
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", `[^ ]+`) + "$"
	if !regexp.MustCompile(pattern).MatchString(got) {
		w.Errorf("%s: %s is\n  %s\nwant\n  %s", key, name, got, want)
	}
}

// states wants the roots that the binding tells of to be in these states.
func (w *world) states(want ...v1alpha1.RootState) {
	w.Helper()
	var got []v1alpha1.RootState
	for _, r := range w.status[translate.Key{Kind: translate.KindMeshBinding, Name: "mesh"}].Roots {
		got = append(got, r.State)
	}
	if !slices.Equal(got, want) {
		w.Errorf("the binding's roots are %v, want %v", got, want)
	}
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
