//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/internal/controller/fakeapi"
)

const plansAPI = "/apis/gatehouse.dev/v1alpha1"

// plansServer is an API server that has GatewayPlans, and lists them.
type plansServer struct {
	*fakeapi.Server

	mu    sync.Mutex
	paths []string
}

// ServeHTTP answers lists by what it has been given, and everything else as the
// server in it does.
func (s *plansServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	prefix, isList := strings.CutSuffix(r.URL.Path, "/gatewayplans")
	if r.Method != http.MethodGet || !isList {
		s.Server.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []json.RawMessage{}
	for _, at := range s.paths {
		if strings.HasPrefix(at, prefix+"/") {
			items = append(items, s.do(http.MethodGet, at, "", nil))
		}
	}
	if len(s.paths) == 0 { // a cluster that was never told of the kind
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatewayPlanList", "items": items})
}

// do makes a request without a network.
func (s *plansServer) do(method, at, contentType string, body any) json.RawMessage {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // decoded from YAML a moment ago
	}
	r := httptest.NewRequest(method, at, bytes.NewReader(text))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	s.Server.ServeHTTP(w, r)
	if w.Code >= 300 {
		panic(fmt.Sprintf("%s %s: %s", method, at, w.Body))
	}
	return w.Body.Bytes()
}

// put makes a plan with its status, or a Gateway or Service to be there.
func (s *plansServer) put(obj map[string]any) {
	meta := obj["metadata"].(map[string]any)
	inside := "/namespaces/" + meta["namespace"].(string)
	switch obj["kind"] {
	case "Gateway":
		s.do(http.MethodPost, "/apis/gateway.networking.k8s.io/v1"+inside+"/gateways", "application/json", obj)
		return
	case "Service":
		s.do(http.MethodPost, "/api/v1"+inside+"/services", "application/json", obj)
		return
	}
	all := plansAPI + inside + "/gatewayplans"
	at := all + "/" + meta["name"].(string)
	s.do(http.MethodPost, all, "application/json", obj)
	s.do(http.MethodPatch, at+"/status", "application/merge-patch+json", map[string]any{"status": obj["status"]})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = append(s.paths, at)
	slices.Sort(s.paths)
}

// apiserver KUBECONFIG [FILE]: starts an API server with the GatewayPlans, Gateways
// and Services of a file, and writes a kubeconfig for it. It lets nobody read a
// Gateway named secret, refuses writes to a plan that is named forbidden, changes the hash of one named moving before each write, and the
// conditions of one named restless.
func apiserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: apiserver KUBECONFIG [FILE]")
	}
	inner, err := fakeapi.New()
	ts.Check(err)
	s := &plansServer{Server: inner}
	if len(args) == 2 {
		for _, document := range strings.Split(ts.ReadFile(args[1]), "\n---\n") {
			var obj map[string]any
			ts.Check(yaml.Unmarshal([]byte(document), &obj))
			s.put(obj)
		}
	}
	inner.Fault(s.meddle)
	web := httptest.NewServer(s)
	ts.Defer(web.Close)
	write(ts, args[0], `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: c, cluster: {server: "`+web.URL+`"}}]
contexts: [{name: test, context: {cluster: c, namespace: edge}}, {name: spare, context: {cluster: c}}]
`)
}

// meddle is what others do right before a person's call.
func (s *plansServer) meddle(c fakeapi.Call) error {
	if path.Base(c.Path) == "secret" && path.Base(path.Dir(c.Path)) == "gateways" {
		return apierrors.NewForbidden(schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "gateways"}, "secret", fmt.Errorf("ask a viewer"))
	}
	if c.Method != http.MethodPatch || strings.HasSuffix(c.Path, "/status") {
		return nil
	}
	change := func(status map[string]any) {
		s.do(http.MethodPatch, c.Path+"/status", "application/merge-patch+json", map[string]any{"status": status})
	}
	switch path.Base(c.Path) {
	case "forbidden":
		return apierrors.NewForbidden(schema.GroupResource{Group: "gatehouse.dev", Resource: "gatewayplans"}, "forbidden", fmt.Errorf("ask an approver"))
	case "moving":
		change(map[string]any{"plan": map[string]any{"hash": strings.Repeat("f", 64)}})
	case "restless":
		if !bytes.Contains(s.do(http.MethodGet, c.Path, "", nil), []byte("seen")) {
			change(map[string]any{"observedGeneration": 7, "conditions": []any{map[string]any{
				"type": "Applied", "status": "False", "reason": "seen", "message": "", "lastTransitionTime": "2026-08-01T00:00:00Z"}}})
		}
	}
	return nil
}
