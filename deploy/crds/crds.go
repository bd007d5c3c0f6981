// Package crds holds the CustomResourceDefinitions of gatehouse.dev, generated
// from api/v1alpha1, as the bytes that a cluster is given. The command line reads
// files by the same definitions, so that a file means here what it means there.
// It never changes them. Start with [Files].
package crds

import "embed"

// Files are the definitions, one a file.
//
//go:embed *.yaml
var Files embed.FS
