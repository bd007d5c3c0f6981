package cloud

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// Why: an Account makes calls in parallel while a data plane reads. Run under the
// race detector, and with a directory whose flushes are shared.
func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, func(o *Options) { o.CompactAfter = 16 })
	group := mustCreate(t, c, KindEndpointGroup, "g", &EndpointGroup{Transport: "TCP"})
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for i := range 15 {
				if err := busy(t, c, group, fmt.Sprintf("w%d-%d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Go(func() {
		for range 30 {
			c.Serving()
			c.Settle()
			_, _ = c.Changed()
			if _, err := NewProvider(c, nil).Observe(t.Context(), lbmodel.Owner{Cluster: "c1"}, nil); err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
	want := dumpText(c)
	closeCloud(t, c)
	if diff := cmp.Diff(want, dumpText(kept(t, dir, nil))); diff != "" {
		t.Errorf("what was confirmed is not what was written\n%s", diff)
	}
}

// busy makes a pool, reports its health, changes it and leaves it.
func busy(t *testing.T, c *Cloud, group Object, name string) error {
	body := &Pool{Group: ref(group), Protocol: lbmodel.PoolHTTP1}
	o, err := c.Create(t.Context(), CreateRequest{Kind: KindPool, Location: "local", Name: name, Body: encode(body)})
	if err != nil {
		return err
	}
	c.ReportHealth(ref(o), map[lbmodel.Target]lbmodel.Health{"10.0.0.1:80": lbmodel.HealthHealthy})
	body.Persistence = &lbmodel.Persistence{Kind: lbmodel.PersistSource}
	if _, err := c.Update(t.Context(), UpdateRequest{Handle: o.Handle, Body: encode(body)}); err != nil {
		return err
	}
	if name[len(name)-1]%2 == 0 {
		return c.Delete(t.Context(), o.Handle)
	}
	return nil
}
