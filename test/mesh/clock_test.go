package mesh

import (
	"sync/atomic"
	"time"
)

// clock goes as the real one does, and is set forward by hand. Everything that
// judges a certificate has the same.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// pass lets time pass.
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }
