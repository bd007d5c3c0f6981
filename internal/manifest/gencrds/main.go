// Command gencrds copies the CustomResourceDefinitions of the pinned
// sigs.k8s.io/gateway-api module into a folder, without their prose, for
// internal/manifest to embed: files of a module that lie outside its Go packages
// cannot be embedded from another module. It runs at the repository's root under
// `make generate`, and CI compares what it writes. It never touches the network.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const module = "sigs.k8s.io/gateway-api"

// plurals are the kinds that Gatehouse reads, by the names of their files.
var plurals = []string{
	"gateway.networking.k8s.io_backendtlspolicies",
	"gateway.networking.k8s.io_gatewayclasses",
	"gateway.networking.k8s.io_gateways",
	"gateway.networking.k8s.io_grpcroutes",
	"gateway.networking.k8s.io_httproutes",
	"gateway.networking.k8s.io_listenersets",
	"gateway.networking.k8s.io_referencegrants",
	"gateway.networking.k8s.io_tcproutes",
	"gateway.networking.k8s.io_tlsroutes",
	"gateway.networking.k8s.io_udproutes",
	"gateway.networking.x-k8s.io_xbackends",
}

func main() {
	if err := run(filepath.Join("internal", "manifest", "crds")); err != nil {
		fmt.Fprintln(os.Stderr, "gencrds:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	dir, version, err := locate()
	if err != nil {
		return err
	}
	for _, name := range plurals {
		from := filepath.Join(dir, "config", "crd", "experimental", name+".yaml")
		if err := convert(from, filepath.Join(out, name+".json")); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "README.md"), []byte(notice(version)), 0o644)
}

// locate finds the module in the module cache at the version that go.mod pins.
func locate() (dir, version string, err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}\n{{.Version}}", module).Output()
	if err != nil {
		return "", "", fmt.Errorf("finding %s: %w", module, err)
	}
	dir, version, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !ok || dir == "" {
		return "", "", errors.New(module + " is not in the module cache: run go mod download")
	}
	return dir, version, nil
}

func convert(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(from), err)
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.AdditionalPrinterColumns = nil
		strip(v.Schema.OpenAPIV3Schema)
	}
	out, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(out, '\n'), 0o644)
}

// strip takes the prose out of a schema and leaves every rule.
func strip(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.Description = ""
	for name, property := range s.Properties {
		strip(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		strip(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		strip(s.AdditionalProperties.Schema)
	}
}

func notice(version string) string {
	return fmt.Sprintf(`# Gateway API definitions

Written by %[3]s from %[1]s %[2]s (config/crd/experimental), descriptions and
printer columns left out; change nothing by hand.

Copyright The Kubernetes Authors. Licensed under the Apache License, Version 2.0,
as this repository is (see LICENSE at its root).
`, module, version, "`make generate`")
}
