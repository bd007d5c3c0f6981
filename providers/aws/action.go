package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// maxShare is the greatest weight of a target group [E.TargetGroupTuple].
const maxShare = 999

// deed is what a rule of a listener does. An error says what of it an Application
// Load Balancer cannot do; the rule answers 500 then.
func (c *compiler) deed(l *lbmodel.Listener, r *lbmodel.Rule) (deed, error) {
	out := deed{broken: brokenStatus(&r.Match)}
	var err error
	switch a := &r.Action; {
	case a.Persistence != nil:
		err = fmt.Errorf("an Application Load Balancer keeps no client at a backend as a route asks for it")
	case a.Fixed != nil:
		out.action, err = fixedAction(a.Fixed)
	case a.Redirect != nil:
		out.action, out.transforms, err = c.redirect(l, r)
	case a.Forward != nil:
		out.action, err = c.forward(l, a.Forward)
		if err == nil && out.action.Fixed == nil {
			out.transforms, err = rewrites(l, r)
		}
	default:
		err = fmt.Errorf("the rule does nothing")
	}
	return out, err
}

// brokenStatus is what Gateway API asks for where a backend cannot be reached, and
// for gRPC what its clients read as UNAVAILABLE.
func brokenStatus(m *lbmodel.Match) int {
	if m.GRPC != nil {
		return 503
	}
	return 500
}

func fixedAction(f *lbmodel.Fixed) (Action, error) {
	class := f.Status / 100
	if class != 2 && class != 4 && class != 5 || len(f.Body) > 1024 {
		return Action{}, fmt.Errorf("an answer of status %d with %d bytes: AWS gives statuses 2xx, 4xx and 5xx with at most 1024 bytes", f.Status, len(f.Body))
	}
	out := &Fixed{Status: f.Status, Body: f.Body}
	if f.Body != "" {
		out.ContentType = "text/plain"
	}
	return Action{Fixed: out}, nil
}

// forward shares requests among the pools' target groups.
func (c *compiler) forward(l *lbmodel.Listener, fw *lbmodel.Forward) (Action, error) {
	shares, pools, err := c.shares(fw)
	if err != nil {
		return Action{}, err
	}
	if !serves(shares) {
		return fixed(500), nil // how AWS takes weights of zero alone is not documented
	}
	version := versionOf(pools[0])
	for _, p := range pools {
		v := versionOf(p)
		if v != version {
			return Action{}, fmt.Errorf("backends of HTTP versions %s and %s cannot be in one rule", version, v)
		}
		if v != versionHTTP1 && l.Protocol != lbmodel.ProtocolHTTPS {
			return Action{}, fmt.Errorf("an Application Load Balancer speaks %s to backends for HTTPS listeners only", v)
		}
	}
	return Action{Forward: shares}, nil
}

// shares are the target groups, each once, with weights that AWS takes.
func (c *compiler) shares(fw *lbmodel.Forward) ([]Share, []*lbmodel.Pool, error) {
	var pools []*lbmodel.Pool
	var refs []Ref
	var weights []int64
	for _, b := range fw.Backends {
		p := c.pools[b.Pool]
		if p == nil {
			return nil, nil, fmt.Errorf("the backend %s has no endpoints of its own: AWS cannot answer a share", b.Source)
		}
		ref := refTo(p.id)
		if i := slices.Index(refs, ref); i >= 0 {
			weights[i] += int64(b.Weight)
			continue
		}
		refs, pools, weights = append(refs, ref), append(pools, p.pool), append(weights, int64(b.Weight))
	}
	out := make([]Share, len(refs))
	for i, w := range scaled(weights) {
		out[i] = Share{Group: refs[i], Weight: w}
	}
	return out, pools, nil
}

// scaled brings weights to at most 999 and keeps their shares, to a thousandth. One
// that gets traffic goes on getting some.
func scaled(weights []int64) []int32 {
	var divisor, greatest int64
	for _, w := range weights {
		divisor, greatest = gcd(divisor, w), max(greatest, w)
	}
	out := make([]int32, len(weights))
	for i, w := range weights {
		switch {
		case w == 0:
		case greatest/divisor <= maxShare:
			out[i] = int32(w / divisor)
		default:
			out[i] = int32(max(1, (w*maxShare+greatest/2)/greatest))
		}
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// literal is text that means itself in a redirect's field and in a rewrite: AWS does
// not say how to escape a dollar sign, what is encoded, or #{…}.
var literal = regexp.MustCompile(`^[A-Za-z0-9._~!'()+,;=:@/&-]*$`)

// redirect builds a redirect of which each field is set, and what rewrites the path
// for it.
func (c *compiler) redirect(l *lbmodel.Listener, r *lbmodel.Rule) (Action, []Transform, error) {
	from := r.Action.Redirect
	to := &Redirect{Status: from.Status, Protocol: "#{protocol}", Host: "#{host}", Port: redirectPort(from, l), Path: "/#{path}", Query: "#{query}"}
	if to.Status == 0 {
		to.Status = 302
	}
	if to.Status != 301 && to.Status != 302 {
		return Action{}, nil, fmt.Errorf("AWS redirects with status 301 or 302, not %d", to.Status)
	}
	if from.Scheme != "" {
		to.Protocol = strings.ToUpper(from.Scheme)
	}
	if from.Scheme == "http" && l.Protocol == lbmodel.ProtocolHTTPS {
		return Action{}, nil, fmt.Errorf("AWS does not redirect from https to http")
	}
	if from.Hostname != "" {
		to.Host = from.Hostname
	}
	transforms, err := c.redirectPath(to, r)
	if err == nil {
		err = checkRedirect(to, l)
	}
	return Action{Redirect: to}, transforms, err
}

// redirectPort is that of the redirect, or of the scheme that it names. AWS calls the
// listener's own #{port}, by which it knows a redirect that leads nowhere else.
func redirectPort(from *lbmodel.Redirect, l *lbmodel.Listener) string {
	port := l.Port
	switch {
	case from.Port != 0:
		port = from.Port
	case from.Scheme == "http":
		port = 80
	case from.Scheme == "https":
		port = 443
	}
	if port == l.Port {
		return "#{port}"
	}
	return strconv.Itoa(int(port))
}

// redirectPath sets the path. A prefix is replaced by a rewrite, of which it must be
// known that the redirect sees it, unless the whole path is below the prefix anyway.
func (c *compiler) redirectPath(to *Redirect, r *lbmodel.Rule) ([]Transform, error) {
	edit := r.Action.Redirect.Path
	if edit == nil {
		return nil, nil
	}
	value := edit.Apply("/", "/")
	if edit.Kind == lbmodel.ReplaceFullPath {
		to.Path = value
		return nil, nil
	}
	prefix, err := matchedPrefix(r)
	switch {
	case err != nil:
		return nil, err
	case prefix == "":
		to.Path = strings.TrimRight(value, "/") + "/#{path}"
		return nil, checkLiteral(value)
	case !assumes(c.s, settings.RedirectSeesRewrite):
		return nil, fmt.Errorf("whether AWS's redirects see a rewritten path is not documented; have the operator assume %s", settings.RedirectSeesRewrite)
	}
	t, err := prefixRewrite(edit, prefix)
	return transformsOf(t), err
}

// transformsOf leaves out those that change nothing.
func transformsOf(all ...Transform) []Transform {
	return slices.DeleteFunc(all, func(t Transform) bool { return t == Transform{} })
}

func checkLiteral(text string) error {
	if !literal.MatchString(text) || len(text) > maxValue {
		return fmt.Errorf("%q has characters that AWS does not take as they are, or more than %d", text, maxValue)
	}
	return nil
}

// checkRedirect refuses what AWS would: fields that do not mean themselves, and a
// redirect to where the client has come from.
func checkRedirect(to *Redirect, l *lbmodel.Listener) error {
	for _, text := range []string{strings.Replace(to.Path, "#{path}", "", 1), strings.Replace(to.Host, "#{host}", "", 1)} {
		if err := checkLiteral(text); err != nil {
			return err
		}
	}
	same := to.Protocol == "#{protocol}" || to.Protocol == string(l.Protocol)
	if same && to.Host == "#{host}" && to.Port == "#{port}" && to.Path == "/#{path}" {
		return fmt.Errorf("the redirect leads to where the client comes from; change the scheme, hostname, port or path")
	}
	return nil
}

// matchedPrefix is the prefix that a rule's requests have, without its slash at the
// end.
func matchedPrefix(r *lbmodel.Rule) (string, error) {
	if r.Match.Path.Kind == lbmodel.MatchExact || r.Match.Path.Kind == lbmodel.MatchRegex || r.Match.Path.Value == "" {
		return "", nil
	}
	prefix, err := normalPath(r.Match.Path.Value)
	return strings.TrimRight(prefix, "/"), err
}

// rewrites are what changes a request on its way to the backend.
func rewrites(l *lbmodel.Listener, r *lbmodel.Rule) ([]Transform, error) {
	edit := r.Action.Edits.Rewrite
	if edit == nil {
		return nil, nil
	}
	var out []Transform
	if edit.Hostname != "" {
		if l.Port != wellKnown(l.Protocol) {
			return nil, fmt.Errorf("the Host is rewritten on ports 80 (HTTP) and 443 (HTTPS) only: elsewhere clients send the port, and whether AWS keeps it is not documented")
		}
		out = append(out, Transform{Type: rewriteHost, Regex: "^.*$", Replace: edit.Hostname})
	}
	if edit.Path == nil {
		return out, checkLiteral(edit.Hostname)
	}
	prefix, err := matchedPrefix(r)
	if err != nil {
		return nil, err
	}
	t, err := pathRewrite(edit.Path, prefix)
	return append(out, transformsOf(t)...), err
}

func wellKnown(p lbmodel.Protocol) int32 {
	if p == lbmodel.ProtocolHTTPS {
		return 443
	}
	return 80
}

// pathRewrite replaces the path, or the prefix that the rule matched. Whether AWS's
// expression sees the query makes no difference to either. A zero Transform changes
// nothing.
func pathRewrite(edit *lbmodel.PathEdit, prefix string) (Transform, error) {
	if edit.Kind == lbmodel.ReplacePrefixMatch {
		return prefixRewrite(edit, prefix)
	}
	value := edit.Apply("/", "/")
	return Transform{Type: rewriteURL, Regex: "^[^?]*", Replace: value}, checkRewrite(value)
}

func prefixRewrite(edit *lbmodel.PathEdit, prefix string) (Transform, error) {
	value := strings.TrimRight(edit.Apply(prefix+"/", prefix), "/")
	out := Transform{Type: rewriteURL, Regex: "^" + quotedPath(prefix), Replace: value}
	switch {
	case value == prefix:
		return Transform{}, nil
	case value == "":
		out.Regex, out.Replace = out.Regex+"/?", "/"
	case prefix == "":
		out.Regex, out.Replace = "^/", value+"/"
	}
	return out, checkRewrite(value)
}

// checkRewrite refuses a dollar sign, which may be a group's.
func checkRewrite(value string) error {
	if strings.Contains(value, "$") || len(value) > 1024 {
		return fmt.Errorf("the path %q has a dollar sign, whose meaning in a rewrite is not documented, or more than 1024 characters", value)
	}
	return nil
}
