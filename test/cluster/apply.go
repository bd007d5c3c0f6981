package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// fieldManager is the field manager of what tests apply.
const fieldManager = "gatehouse-test"

// Channel is one of Gateway API's sets of definitions.
type Channel string

// The channels of Gateway API.
const (
	Standard     Channel = "standard"
	Experimental Channel = "experimental"
)

// InstallCRDs installs our own definitions and those of Gateway API, of the
// version that this build uses, and waits until they are served.
func (c *Cluster) InstallCRDs(tb testing.TB, channel Channel) {
	tb.Helper()
	for module, dir := range map[string]string{
		"gatehouse.dev":           filepath.Join("deploy", "crds"),
		"sigs.k8s.io/gateway-api": filepath.Join("config", "crd", string(channel)),
	} {
		root, err := moduleDir(tb.Context(), module)
		if err != nil {
			tb.Fatal(err)
		}
		c.ApplyFile(tb, filepath.Join(root, dir))
	}
}

// ApplyFile applies a file, or every YAML file of a folder.
func (c *Cluster) ApplyFile(tb testing.TB, path string) {
	tb.Helper()
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	} else if info.IsDir() {
		files, err = filepath.Glob(filepath.Join(path, "*.yaml"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no *.yaml in %s (%v)", path, err)
		}
	}
	var all []*unstructured.Unstructured
	for _, name := range files {
		if filepath.Base(name) == "kustomization.yaml" {
			continue // about the others, and no object
		}
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		objects, err := Parse(string(text))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		all = append(all, objects...)
	}
	if err := c.ApplyObjects(tb.Context(), all...); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// Apply applies the documents of a YAML text, with the administrator's rights,
// by server-side apply. A missing namespace is "default".
func (c *Cluster) Apply(tb testing.TB, text string) {
	tb.Helper()
	objects, err := Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.ApplyObjects(tb.Context(), objects...); err != nil {
		tb.Fatal(err)
	}
}

// Delete deletes the objects of a YAML text and waits until they are gone.
func (c *Cluster) Delete(tb testing.TB, text string) {
	tb.Helper()
	objects, err := Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	for _, o := range objects {
		if err := c.deleteObject(tb.Context(), o); err != nil {
			tb.Fatal(err)
		}
	}
}

func (c *Cluster) deleteObject(ctx context.Context, o *unstructured.Unstructured) error {
	resource, err := c.resource(ctx, o)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationForeground
	for {
		err := resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%s %s is not gone: %w", o.GetKind(), o.GetName(), err)
		}
	}
}

// Parse reads the documents of a YAML text; empty ones are passed over.
func Parse(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// ApplyTyped is Apply for one object of a Go type; it must name its kind.
func (c *Cluster) ApplyTyped(tb testing.TB, o runtime.Object) {
	tb.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.ApplyObjects(tb.Context(), &unstructured.Unstructured{Object: fields}); err != nil {
		tb.Fatal(err)
	}
}

// ApplyObjects is Apply for objects in memory. Definitions among them are waited
// for before anything that follows.
func (c *Cluster) ApplyObjects(ctx context.Context, objects ...*unstructured.Unstructured) error {
	var definitions []string
	for _, o := range objects {
		resource, err := c.resource(ctx, o)
		if err != nil {
			return err
		}
		if _, err := resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, o.GetName())
		}
	}
	for _, name := range definitions {
		if err := c.established(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) established(ctx context.Context, name string) error {
	definitions := c.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for {
		o, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		// null, as the server writes it at first, is no list to NestedSlice.
		value, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
		if err != nil {
			return err
		}
		conditions, _ := value.([]any)
		for _, each := range conditions {
			if m, ok := each.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
				return nil
			}
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("definition %s is not established: %w", name, err)
		}
	}
}

// resource is where an object lives. A kind that is not served yet is asked for
// again, for the definitions of a moment ago take one to appear.
func (c *Cluster) resource(ctx context.Context, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	deadline := time.Now().Add(10 * time.Second)
	for {
		m, err := c.mapping(kind)
		if err == nil {
			if m.Scope.Name() == meta.RESTScopeNameRoot {
				return c.dynamic.Resource(m.Resource), nil
			}
			if o.GetNamespace() == "" {
				o.SetNamespace("default")
			}
			return c.dynamic.Resource(m.Resource).Namespace(o.GetNamespace()), nil
		}
		if !meta.IsNoMatchError(err) || time.Now().After(deadline) {
			return nil, fmt.Errorf("kind %s: %w", kind, err)
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// mapping asks the API server anew only for a kind that it did not have before.
func (c *Cluster) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.kinds.Reset()
		return c.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return m, err
}

// pause waits between two questions, or returns the context's error.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}
