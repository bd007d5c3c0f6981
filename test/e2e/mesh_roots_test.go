//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/test/cluster"
)

// rootsAreKept wants what is known of a mesh's roots to be where the next leader finds
// it, without any key.
func rootsAreKept(t *testing.T, c *cluster.Cluster) {
	eventually(t, func(ctx context.Context) error {
		m, err := c.Client().CoreV1().ConfigMaps(system).Get(ctx, "gatehouse-roots", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, text := range m.Data {
			memory, err := rootsync.Decode([]byte(text), "e2e", time.Now())
			if strings.Contains(text, "PRIVATE") {
				t.Error("there is a key in the record")
			}
			if b := memory.Bindings["istio"]; err == nil && len(b.Roots) > 0 && len(b.Seen) == len(b.Roots) {
				return nil
			}
		}
		return errors.New("the record says nothing of the binding")
	})
}
