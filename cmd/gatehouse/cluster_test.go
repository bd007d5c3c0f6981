//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// listing is an API server that lists objects and does nothing else.
type listing struct {
	objects map[schema.GroupVersionResource][]unstructured.Unstructured
	kinds   map[schema.GroupVersionResource]string
	denied  []string // plurals that nobody may list
}

// ServeHTTP implements http.Handler.
func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	if r.Method != http.MethodGet || len(parts) < 3 || len(parts) > 4 {
		http.NotFound(w, r)
		return
	}
	gv := schema.GroupVersion{Group: parts[1], Version: parts[2]}
	if len(parts) == 3 {
		l.discover(w, r, gv)
		return
	}
	if slices.Contains(l.denied, parts[3]) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403, Message: "no"})
		return
	}
	gvr := gv.WithResource(parts[3])
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": gv.String(), "kind": l.kinds[gvr] + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": l.objects[gvr],
	})
}

func (l *listing) discover(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for gvr, kind := range l.kinds {
		if gvr.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: gvr.Resource, Kind: kind, Verbs: []string{"list"}})
		}
	}
	if len(list.APIResources) == 0 {
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(list)
}

// cluster KUBECONFIG DIR [PLURAL…]: starts an API server that lists what the YAML
// files of a folder hold, writes a kubeconfig for it, and lets nobody list the plurals.
func cluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: cluster KUBECONFIG DIR [PLURAL...]")
	}
	l := &listing{objects: map[schema.GroupVersionResource][]unstructured.Unstructured{}, kinds: map[schema.GroupVersionResource]string{}, denied: args[2:]}
	names, err := filepath.Glob(filepath.Join(ts.MkAbs(args[1]), "*.yaml"))
	ts.Check(err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		ts.Check(err)
		for _, document := range strings.Split(string(text), "\n---\n") {
			var obj unstructured.Unstructured
			ts.Check(yaml.Unmarshal([]byte(document), &obj.Object))
			gvr, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
			gvr.Resource = strings.NewReplacer("parameterses", "parameters", "gatewaies", "gateways").Replace(gvr.Resource) // the guess knows no better
			l.objects[gvr] = append(l.objects[gvr], obj)
			l.kinds[gvr] = obj.GetKind()
		}
	}
	web := httptest.NewServer(l)
	ts.Defer(web.Close)
	write(ts, args[0], `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: c, cluster: {server: "`+web.URL+`"}}]
contexts: [{name: test, context: {cluster: c}}]
`)
}
