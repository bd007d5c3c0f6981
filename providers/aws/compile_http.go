package aws

import (
	"slices"
	"strconv"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

func portText(port int32) string { return strconv.Itoa(int(port)) }

// addHTTP adds the Application Load Balancer with its listeners and rules.
func (c *compiler) addHTTP(listeners []*lbmodel.Listener) {
	f := c.newFront(typeApplication)
	for _, port := range byPort(listeners) {
		c.addHTTPPort(f, port)
	}
	c.admitNetwork(f)
	c.addFront(f)
}

// admitNetwork lets in who comes through the Network Load Balancer in front, which says
// whom it admits, and nobody else.
func (c *compiler) admitNetwork(f *front) {
	if c.s.Flavour != settings.ApplicationBehindNetwork || len(c.s.SecurityGroups) > 0 {
		return
	}
	from := refTo(c.newFront(typeNetwork).group)
	for i, in := range f.ingress {
		f.ingress[i] = Ingress{Protocol: in.Protocol, Port: in.Port, Group: from}
	}
}

// addHTTPPort adds one listener of AWS's for all of the gateway's on a port. They
// share what AWS has once for a port: the protocol, who is admitted, and how clients
// are verified. The first one says; those that want something else are refused, and
// nobody else answers for them.
func (c *compiler) addHTTPPort(f *front, listeners []*lbmodel.Listener) {
	first := listeners[0]
	if !c.open(f, first) {
		return
	}
	alike, others := c.alike(listeners)
	id := c.listenerID(f, first, "http")
	entries := c.entries(alike, others)
	if arn := c.heldListener(first.Port); arn != "" {
		id.Name = arn
		c.external(id, &Listener{LoadBalancer: refTo(f.id), Port: first.Port})
	} else if !c.addHTTPListener(f, id, alike) {
		return
	}
	c.addRules(id, entries)
}

// alike are the listeners that agree with the first one, and the others.
func (c *compiler) alike(listeners []*lbmodel.Listener) (alike, others []*lbmodel.Listener) {
	first := listeners[0]
	for _, l := range listeners {
		var what string
		switch {
		case l.Protocol != first.Protocol:
			what = "protocol"
		case !slices.Equal(l.SourceRanges, first.SourceRanges):
			what = "source ranges"
		case trustOf(l) != trustOf(first):
			what = "verification of clients"
		default:
			alike = append(alike, l)
			continue
		}
		others = append(others, l)
		c.refuse(l.Source, c.source, "AWS has one %s for a port, and listener %s of port %d has another; use another port", what, first.Name, l.Port)
	}
	return alike, others
}

// trustOf is the trust that clients are verified by, or "".
func trustOf(l *lbmodel.Listener) string {
	if l.TLS == nil || l.TLS.Validation == nil {
		return ""
	}
	return l.TLS.Validation.Trust
}

// addHTTPListener adds the listener itself; false when it cannot be.
func (c *compiler) addHTTPListener(f *front, id lbmodel.ID, alike []*lbmodel.Listener) bool {
	first := alike[0]
	spec := &Listener{LoadBalancer: refTo(f.id), Port: first.Port, Protocol: string(first.Protocol), Default: fixed(404)}
	for _, l := range alike {
		spec.sources = sources(append(spec.sources, l.Source)...)
	}
	if first.Protocol == lbmodel.ProtocolHTTPS && !c.addTLS(spec, id, alike) {
		return false
	}
	if !c.admit(f, first) {
		return false
	}
	c.add(id, spec)
	return true
}

// entries are the rules of the listeners of a port in the order in which they are to
// be asked: those of the most specific hostname first. Where a less specific listener
// could answer for one, a last entry answers 404 in its place.
func (c *compiler) entries(alike, others []*lbmodel.Listener) []entry {
	all := slices.Concat(alike, others)
	slices.SortStableFunc(all, func(a, b *lbmodel.Listener) int { return lbmodel.CompareHostnames(a.Hostname, b.Hostname) })
	all = slices.CompactFunc(all, func(a, b *lbmodel.Listener) bool { return a.Hostname == b.Hostname })
	var out []entry
	for i, l := range all {
		if slices.Contains(alike, l) {
			out = append(out, c.entriesOf(l)...)
		}
		covers := func(o *lbmodel.Listener) bool { return lbmodel.HostMatches(o.Hostname, l.Hostname) }
		if l.Hostname != "" && slices.ContainsFunc(all[i+1:], covers) && c.tellHost(l) {
			out = append(out, isolation(l))
		}
	}
	return pack(out, c.ruleQuotas())
}

func (c *compiler) tellHost(l *lbmodel.Listener) bool {
	err := checkHost(l.Hostname)
	if err != nil {
		c.refuse(l.Source, c.source, "%v", err)
	}
	return err == nil
}

func (c *compiler) ruleQuotas() quotas {
	return quotas{values: c.s.Quotas.ConditionValuesPerRule, wildcards: c.s.Quotas.WildcardsPerRule}
}

// entriesOf are a listener's own rules. One whose match AWS cannot take is left out,
// since no other match takes exactly its requests; one whose action AWS cannot do
// answers 500.
func (c *compiler) entriesOf(l *lbmodel.Listener) []entry {
	var out []entry
	for i := range l.Rules {
		r := &l.Rules[i]
		e, err := c.encoder.entry(l, r)
		if err != nil {
			c.refuse(r.Source, l.Source, "%v", err)
			continue
		}
		e.does = c.deedOrError(l, r)
		e.key = encode([]any{r.Source.Object(), e.match, e.does.action, e.does.transforms})
		out = append(out, e)
	}
	return out
}

// entry is a rule's match.
func (e *encoder) entry(l *lbmodel.Listener, r *lbmodel.Rule) (entry, error) {
	out := entry{match: r.Match, sources: actionSources(r), about: r.Source, parent: l.Source}
	host, ok := hostnameOf(l, r)
	if !ok {
		return out, errNoHost
	}
	if err := checkHost(host); err != nil {
		return out, err
	}
	if host != "" {
		out.hosts = []string{host}
	}
	method := r.Match.Method
	if r.Match.GRPC != nil {
		method = "POST"
	}
	if method != "" {
		out.methods = []string{method}
	}
	out.match.Method = ""
	if err := checkMethod(method); err != nil {
		return out, err
	}
	var err error
	out.rest, err = e.match(&r.Match)
	return out, err
}

// actionSources are the route and the backends that the rule came from.
func actionSources(r *lbmodel.Rule) []lbmodel.Source {
	out := []lbmodel.Source{r.Source}
	if r.Action.Forward != nil {
		for _, b := range r.Action.Forward.Backends {
			out = append(out, b.Source)
		}
	}
	return sources(out...)
}

func (c *compiler) deedOrError(l *lbmodel.Listener, r *lbmodel.Rule) deed {
	d, err := c.deed(l, r)
	if err == nil {
		err = c.spendGroups(&d.action)
	}
	if err != nil {
		c.refuse(r.Source, l.Source, "%v", err)
		return deed{action: fixed(500), broken: brokenStatus(&r.Match)}
	}
	return d
}
