package kubelet

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// file is one of a volume that comes from the API.
type file struct {
	data []byte
	mode os.FileMode
}

// payload is all files of such a volume, by path.
type payload map[string]file

// token is one of a ServiceAccount, to be renewed before it expires.
type token struct {
	text  string
	renew time.Time
}

func (w *worker) volumeDir(name string) string { return filepath.Join(w.dir, "volumes", name) }

// materialise brings every volume to its present content.
func (w *worker) materialise(ctx context.Context) error {
	for _, v := range w.latest().Spec.Volumes {
		dir := w.volumeDir(v.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if v.EmptyDir != nil {
			if err := os.Chmod(dir, 0o777); err != nil {
				return err
			}
			continue
		}
		p, err := w.payload(ctx, v)
		if err == nil {
			err = p.write(dir)
		}
		if err != nil {
			return fmt.Errorf("volume %q: %w", v.Name, err)
		}
	}
	return nil
}

// fixed tells whether a volume is written by the kubelet only.
func (w *worker) fixed(name string) bool {
	for _, v := range w.latest().Spec.Volumes {
		if v.Name == name {
			return v.EmptyDir == nil
		}
	}
	return false
}

// subPath makes sure that a part of a volume is there: a folder of an emptyDir
// appears, anything else must exist.
func (w *worker) subPath(m corev1.VolumeMount, source string) error {
	if !w.fixed(m.Name) {
		return os.MkdirAll(source, 0o777)
	}
	if _, err := os.Stat(source); err != nil {
		return fmt.Errorf("volumeMounts %s: subPath %q: %w", m.Name, m.SubPath, err)
	}
	return nil
}

func (w *worker) payload(ctx context.Context, v corev1.Volume) (payload, error) {
	out := payload{}
	switch {
	case v.Secret != nil:
		data, err := w.secret(v.Secret.SecretName, v.Secret.Optional)
		if err != nil {
			return nil, err
		}
		return out, out.add(data, v.Secret.Items, v.Secret.DefaultMode, v.Secret.Optional)
	case v.ConfigMap != nil:
		data, err := w.configMap(v.ConfigMap.Name, v.ConfigMap.Optional)
		if err != nil {
			return nil, err
		}
		return out, out.add(data, v.ConfigMap.Items, v.ConfigMap.DefaultMode, v.ConfigMap.Optional)
	case v.DownwardAPI != nil:
		return out, w.downward(out, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if err := w.project(ctx, out, s, v.Projected.DefaultMode); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("this kubelet knows emptyDir, secret, configMap, downwardAPI and projected volumes only")
}

// project adds one source of a projected volume.
func (w *worker) project(ctx context.Context, out payload, s corev1.VolumeProjection, mode *int32) error {
	switch {
	case s.Secret != nil:
		data, err := w.secret(s.Secret.Name, s.Secret.Optional)
		if err != nil {
			return err
		}
		return out.add(data, s.Secret.Items, mode, s.Secret.Optional)
	case s.ConfigMap != nil:
		data, err := w.configMap(s.ConfigMap.Name, s.ConfigMap.Optional)
		if err != nil {
			return err
		}
		return out.add(data, s.ConfigMap.Items, mode, s.ConfigMap.Optional)
	case s.DownwardAPI != nil:
		return w.downward(out, s.DownwardAPI.Items, mode)
	case s.ServiceAccountToken != nil:
		text, err := w.token(ctx, s.ServiceAccountToken)
		if err != nil {
			return err
		}
		return out.put(s.ServiceAccountToken.Path, []byte(text), nil, mode)
	}
	return fmt.Errorf("this kubelet projects secret, configMap, downwardAPI and serviceAccountToken only")
}

func (w *worker) downward(out payload, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return fmt.Errorf("%s: this kubelet knows fieldRef only", item.Path)
		}
		text, err := w.field(item.FieldRef.FieldPath)
		if err != nil {
			return err
		}
		if err := out.put(item.Path, []byte(text), item.Mode, mode); err != nil {
			return err
		}
	}
	return nil
}

// token is a token of the pod's ServiceAccount, bound to the pod, asked for anew
// when four fifths of its life are over.
func (w *worker) token(ctx context.Context, s *corev1.ServiceAccountTokenProjection) (string, error) {
	if t := w.tokens[s.Path]; time.Now().Before(t.renew) {
		return t.text, nil
	}
	pod := w.latest()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: s.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if s.Audience != "" {
		request.Spec.Audiences = []string{s.Audience}
	}
	now := time.Now()
	got, err := w.kubelet.config.Client.CoreV1().ServiceAccounts(w.namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	life := got.Status.ExpirationTimestamp.Sub(now)
	w.tokens[s.Path] = token{text: got.Status.Token, renew: now.Add(life / 5 * 4)}
	return got.Status.Token, nil
}

// add takes all keys, or the items.
func (p payload) add(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	if len(items) == 0 {
		for k, v := range data {
			if err := p.put(k, v, nil, mode); err != nil {
				return err
			}
		}
		return nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && yes(optional) {
			continue
		}
		if !ok {
			return fmt.Errorf("no key %q", item.Key)
		}
		if err := p.put(item.Path, value, item.Mode, mode); err != nil {
			return err
		}
	}
	return nil
}

func (p payload) put(name string, data []byte, mode, otherwise *int32) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("path %q leaves the volume", name)
	}
	if mode == nil {
		mode = otherwise
	}
	f := file{data: data, mode: 0o644}
	if mode != nil {
		f.mode = os.FileMode(*mode)
	}
	p[path.Clean(name)] = f
	return nil
}
