package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Server is the server. It is safe for use by several goroutines.
type Server struct {
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // by path
	version int64
	fields  *fields
	calls   []Call
	fault   func(Call) error
}

// Call is one request.
type Call struct {
	Method, Path string
	ContentType  string
	Body         string
}

// Write says whether a call changes anything.
func (c Call) Write() bool { return c.Method != http.MethodGet }

// New makes an empty server for core, discovery and Gateway API kinds.
func New() (*Server, error) {
	f, err := newFields()
	return &Server{objects: map[string]*unstructured.Unstructured{}, version: 100, fields: f}, err
}

// Fault is asked before each call; its error is the answer. Nil is no faults.
func (s *Server) Fault(f func(Call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Calls are all calls since the last look.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

// Writes are those of Calls that change something.
func (s *Server) Writes() []Call {
	return slices.DeleteFunc(s.Calls(), func(c Call) bool { return !c.Write() })
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	call := Call{Method: r.Method, Path: r.URL.Path, ContentType: r.Header.Get("Content-Type"), Body: string(body)}
	var obj *unstructured.Unstructured
	if err == nil {
		obj, err = s.answer(call, r)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		answer := status.Status()
		answer.Kind, answer.APIVersion = "Status", "v1"
		w.WriteHeader(int(answer.Code))
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	_ = json.NewEncoder(w).Encode(obj)
}

func (s *Server) answer(call Call, r *http.Request) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	fault := s.fault
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if fault != nil {
		if err := fault(call); err != nil {
			return nil, err
		}
	}
	t, err := parse(call, r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch call.Method {
	case http.MethodGet:
		return s.get(t)
	case http.MethodPost:
		return s.create(t)
	case http.MethodPut:
		return s.update(t, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return t.object() })
	case http.MethodPatch:
		return s.patch(t)
	case http.MethodDelete:
		return s.remove(t)
	default:
		return nil, apierrors.NewMethodNotSupported(t.group(), call.Method)
	}
}

// target is what a request is about.
type target struct {
	gvr       schema.GroupVersionResource
	namespace string
	name      string
	status    bool // the subresource
	manager   string
	force     bool
	call      Call
}

func parse(call Call, r *http.Request) (target, error) {
	q := r.URL.Query()
	t := target{call: call, manager: q.Get("fieldManager"), force: q.Get("force") == "true"}
	parts := strings.Split(strings.Trim(call.Path, "/"), "/")
	if len(parts) > 2 && parts[0] == "api" {
		t.gvr.Version, parts = parts[1], parts[2:]
	} else if len(parts) > 3 && parts[0] == "apis" {
		t.gvr.Group, t.gvr.Version, parts = parts[1], parts[2], parts[3:]
	} else {
		return t, apierrors.NewBadRequest("no such path: " + call.Path)
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.gvr.Resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	t.status = len(parts) > 2 && parts[2] == "status"
	if t.manager == "" {
		t.manager, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	return t, nil
}

func (t target) group() schema.GroupResource { return t.gvr.GroupResource() }

func (t target) path() string {
	return fmt.Sprintf("%s/%s/%s", t.gvr.GroupResource(), t.namespace, t.name)
}

func (t target) object() (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(t.call.Body)); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return obj, nil
}

func (s *Server) get(t target) (*unstructured.Unstructured, error) {
	obj, ok := s.objects[t.path()]
	if !ok {
		return nil, apierrors.NewNotFound(t.group(), t.name)
	}
	return obj.DeepCopy(), nil
}

func (s *Server) remove(t target) (*unstructured.Unstructured, error) {
	obj, err := s.get(t)
	if err != nil {
		return nil, err
	}
	var options metav1.DeleteOptions
	if t.call.Body != "" {
		if err := json.Unmarshal([]byte(t.call.Body), &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != obj.GetUID() {
		return nil, apierrors.NewConflict(t.group(), t.name, fmt.Errorf("the UID is %s", obj.GetUID()))
	}
	if len(obj.GetFinalizers()) == 0 {
		delete(s.objects, t.path())
		return obj, nil
	}
	if obj.GetDeletionTimestamp() != nil {
		return obj, nil
	}
	now := metav1.Now()
	obj.SetDeletionTimestamp(&now)
	s.version++
	obj.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[t.path()] = obj
	return obj.DeepCopy(), nil
}
