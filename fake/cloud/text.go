package cloud

// Bodies print as their JSON, so that what %v shows of a Spec can be compared and
// searched. (They hold no secret.)

func (a *Address) String() string       { return string(encode(a)) }
func (n *Network) String() string       { return string(encode(n)) }
func (b *Balancer) String() string      { return string(encode(b)) }
func (l *Listener) String() string      { return string(encode(l)) }
func (r *Rule) String() string          { return string(encode(r)) }
func (p *Pool) String() string          { return string(encode(p)) }
func (g *EndpointGroup) String() string { return string(encode(g)) }
func (t *Trust) String() string         { return string(encode(t)) }
func (c *Certificate) String() string   { return string(encode(c)) }
