package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// environment is a container's, by name. Later ones replace earlier ones.
type environment map[string]string

func (e environment) list() []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(e)) {
		out = append(out, k+"="+e[k])
	}
	return out
}

// expand replaces $(NAME) by what is known; $$ is a dollar. An unknown name
// stays as it is written. Source: the API's documentation of EnvVar.value.
func (e environment) expand(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		value, known := e[name]
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteString("$")
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed && known:
			out.WriteString(value)
			text = after
		default:
			out.WriteString("$")
			text = rest
		}
	}
}

func (e environment) expandAll(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, e.expand(t))
	}
	return out
}

// environment is what the program finds. The API server is where the pod can
// reach it, in the variables that client libraries read.
func (c *container) environment() (environment, error) {
	server := c.worker.kubelet.config.Server
	env := environment{
		"PATH": "/bin", "HOME": "/", "HOSTNAME": c.hostname(),
		"KUBERNETES_SERVICE_HOST": server.Addr().String(), "KUBERNETES_SERVICE_PORT": fmt.Sprint(server.Port()),
	}
	for _, from := range c.spec.EnvFrom {
		values, err := c.worker.envFrom(from)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			env[from.Prefix+k] = v
		}
	}
	for _, v := range c.spec.Env {
		if v.ValueFrom == nil {
			env[v.Name] = env.expand(v.Value)
			continue
		}
		value, found, err := c.worker.valueFrom(v.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", v.Name, err)
		}
		if found {
			env[v.Name] = value
		}
	}
	return env, nil
}

func (w *worker) envFrom(from corev1.EnvFromSource) (map[string]string, error) {
	var data map[string][]byte
	var err error
	switch {
	case from.ConfigMapRef != nil:
		data, err = w.configMap(from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		data, err = w.secret(from.SecretRef.Name, from.SecretRef.Optional)
	}
	out := map[string]string{}
	for k, v := range data {
		out[k] = string(v)
	}
	return out, err
}

// valueFrom is one variable's value; an optional one may not be there.
func (w *worker) valueFrom(s *corev1.EnvVarSource) (value string, found bool, err error) {
	switch {
	case s.FieldRef != nil:
		value, err = w.field(s.FieldRef.FieldPath)
		return value, true, err
	case s.SecretKeyRef != nil:
		data, err := w.secret(s.SecretKeyRef.Name, s.SecretKeyRef.Optional)
		return key(data, s.SecretKeyRef.Key, s.SecretKeyRef.Optional, err)
	case s.ConfigMapKeyRef != nil:
		data, err := w.configMap(s.ConfigMapKeyRef.Name, s.ConfigMapKeyRef.Optional)
		return key(data, s.ConfigMapKeyRef.Key, s.ConfigMapKeyRef.Optional, err)
	}
	return "", false, fmt.Errorf("this kubelet knows fieldRef, secretKeyRef and configMapKeyRef only")
}

func key(data map[string][]byte, name string, optional *bool, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, ok := data[name]
	if !ok && !yes(optional) {
		return "", false, fmt.Errorf("no key %q", name)
	}
	return string(value), ok, nil
}

func yes(b *bool) bool { return b != nil && *b }

// secret is the data of a Secret of the pod's namespace; none of an optional one.
func (w *worker) secret(name string, optional *bool) (map[string][]byte, error) {
	s, err := w.kubelet.secrets.Secrets(w.namespace).Get(name)
	if apierrors.IsNotFound(err) && yes(optional) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return s.Data, nil
}

// configMap is the data of a ConfigMap, likewise.
func (w *worker) configMap(name string, optional *bool) (map[string][]byte, error) {
	m, err := w.kubelet.configs.ConfigMaps(w.namespace).Get(name)
	if apierrors.IsNotFound(err) && yes(optional) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	out := maps.Clone(m.BinaryData)
	if out == nil {
		out = map[string][]byte{}
	}
	for k, v := range m.Data {
		out[k] = []byte(v)
	}
	return out, nil
}

// field is a value of the pod itself, by the paths of the downward API.
func (w *worker) field(path string) (string, error) {
	pod := w.latest()
	if name, ok := subscript(path, "metadata.labels"); ok {
		return pod.Labels[name], nil
	}
	if name, ok := subscript(path, "metadata.annotations"); ok {
		return pod.Annotations[name], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return lines(pod.Labels), nil
	case "metadata.annotations":
		return lines(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return w.node.Addresses[0].String(), nil
	case "status.podIP":
		return w.ips()[0], nil
	case "status.podIPs":
		return strings.Join(w.ips(), ","), nil
	}
	return "", fmt.Errorf("fieldPath %q is not one of the downward API", path)
}

// subscript splits metadata.labels['name'].
func subscript(path, of string) (string, bool) {
	rest, ok := strings.CutPrefix(path, of+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

// lines writes a map as files of the downward API have it.
func lines(m map[string]string) string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&out, "%s=%q\n", k, m[k])
	}
	return out.String()
}
