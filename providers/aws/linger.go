package aws

import "time"

// Lingers implements providers.Lingering. Names of load balancers are to be asked for
// again after 60 s, resolvers and long-lived processes take longer, and 300 s is how
// long AWS lets a target finish by default.
func (p *Provider) Lingers() time.Duration { return 10 * time.Minute }
