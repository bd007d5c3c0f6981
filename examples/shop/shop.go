// Package shop embeds the manifests of this folder, so that `gatehouse demo` works
// from the binary alone. It has no code. Start with [Manifests].
package shop

import "embed"

// Manifests are the folder's YAML files.
//
//go:embed *.yaml
var Manifests embed.FS
