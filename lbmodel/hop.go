package lbmodel

// Securing is a Spec of how a gateway speaks to the endpoints of a pool, for those
// who try a hop before it is programmed.
type Securing interface {
	// Hop is the Pool.Name of the gateway that it was compiled from; "" for one that
	// was only observed.
	Hop() string
	// Secures says whether the way from have to it gives the hop other TLS than it
	// has, or TLS at all. A nil have is that nothing is there. The roots and the
	// certificate behind their references are other resources.
	Secures(have Spec) bool
}

// Presenting is a Spec of a certificate that a gateway presents, for those who show it
// to endpoints before it is programmed.
type Presenting interface {
	// Presents is the Identity.Name of the gateway that it was compiled from; "" for one
	// that was only observed.
	Presents() string
}
