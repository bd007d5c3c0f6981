package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// locate finds the node that a field path names, or the deepest one on the way
// to it: for a mapping's entry the key, and the value behind it. Paths look like
// spec.rules[0].filters[2].type, with [key] for a map's key; keys may hold dots.
func locate(root *yaml.Node, path string) (at, value *yaml.Node) {
	at, value = root, root
	for path != "" {
		key, next, rest := step(target(value), path)
		if next == nil {
			break
		}
		at, value, path = key, next, rest
	}
	return at, value
}

// step goes from n to the child that path names first.
func step(n *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	if index, after, ok := bracket(path); ok {
		if n.Kind == yaml.MappingNode {
			key, value := entry(n, index)
			return key, value, after
		}
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
			return nil, nil, ""
		}
		return n.Content[i], n.Content[i], after
	}
	path = strings.TrimPrefix(path, ".")
	for end := len(path); end > 0; end-- {
		if end < len(path) && path[end] != '.' && path[end] != '[' {
			continue
		}
		if key, value := entry(n, path[:end]); value != nil {
			return key, value, path[end:]
		}
	}
	return nil, nil, ""
}

// bracket splits "[name]rest".
func bracket(path string) (name, rest string, ok bool) {
	if !strings.HasPrefix(path, "[") {
		return "", "", false
	}
	return strings.Cut(path[1:], "]")
}

// entry finds a mapping's entry, also one that "<<" brings.
func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := target(n.Content[i]); k.Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		if key, value := merged(target(n.Content[i+1]), name); value != nil {
			return key, value
		}
	}
	return nil, nil
}

func merged(source *yaml.Node, name string) (key, value *yaml.Node) {
	if source.Kind != yaml.SequenceNode {
		return entry(source, name)
	}
	for _, child := range source.Content {
		if key, value := entry(target(child), name); value != nil {
			return key, value
		}
	}
	return nil, nil
}
