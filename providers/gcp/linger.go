package gcp

import "time"

// Lingers implements providers.Lingering: a name's records are commonly kept for five
// minutes, and whoever writes them has to see the new address first.
func (p *Provider) Lingers() time.Duration { return 10 * time.Minute }
