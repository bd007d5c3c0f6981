package gcp

import (
	"errors"
	"fmt"
	"strings"

	"gatehouse.dev/lbmodel"
)

// redirect builds a Location that is the same whatever is open about ports.
func (c *compiler) redirect(l *lbmodel.Listener, r *lbmodel.Rule, part pathPart) (deed, error) {
	from := r.Action.Redirect
	code, ok := map[int]string{0: "FOUND", 301: "MOVED_PERMANENTLY_DEFAULT", 302: "FOUND", 303: "SEE_OTHER", 307: "TEMPORARY_REDIRECT", 308: "PERMANENT_REDIRECT"}[from.Status]
	https := l.Protocol == lbmodel.ProtocolHTTPS
	switch {
	case !ok:
		return deed{}, fmt.Errorf("status %d of a redirect is none of 301, 302, 303, 307 and 308", from.Status)
	case from.Scheme == "http" && https:
		return deed{}, errors.New("there are no redirects from https to http")
	case r.Action.Edits.Response != nil || r.Action.CORS != nil:
		return deed{}, errors.New("whether headers of a redirect are changed is not documented; leave response headers and CORS out")
	}
	to := &URLRedirect{HostRedirect: from.Hostname, HTTPSRedirect: from.Scheme == "https" && !https, RedirectResponseCode: code}
	if err := errors.Join(checkRedirectPort(from, l), redirectPath(to, from.Path, part)); err != nil {
		return deed{}, err
	}
	if to.HostRedirect == "" && !to.HTTPSRedirect && to.PathRedirect == "" && to.PrefixRedirect == "" {
		return deed{}, errors.New("the redirect leads to where the client comes from; change the scheme, hostname or path")
	}
	return deed{redirect: to}, nil
}

// checkRedirectPort: a Location has no port where a host is named, and may or may not
// have the request's where none is. So it must be one that is left out.
func checkRedirectPort(from *lbmodel.Redirect, l *lbmodel.Listener) error {
	scheme := from.Scheme
	if scheme == "" {
		scheme = strings.ToLower(string(l.Protocol))
	}
	known := map[string]int32{"http": 80, "https": 443}[scheme]
	port := l.Port
	switch {
	case from.Port != 0:
		port = from.Port
	case from.Scheme != "":
		port = known
	}
	asked := l.Port == wellKnown(l.Protocol)
	if port == known && (from.Hostname != "" || asked) {
		return nil
	}
	return fmt.Errorf("the redirect's port would be %d: Google Cloud leads to port 80 (http) and 443 (https) only, from other ports with a hostname", port)
}

func wellKnown(p lbmodel.Protocol) int32 {
	if p == lbmodel.ProtocolHTTPS {
		return 443
	}
	return 80
}

func redirectPath(to *URLRedirect, edit *lbmodel.PathEdit, part pathPart) error {
	switch {
	case edit == nil:
		return nil
	case edit.Kind == lbmodel.ReplaceFullPath:
		to.PathRedirect = edit.Apply("/", "/")
		return checkTarget(to.PathRedirect)
	case part.exact != "":
		to.PathRedirect = edit.Apply(part.exact, part.matched)
		return checkTarget(to.PathRedirect)
	case part.prefix == "":
		return errors.New("a prefix is replaced where one is matched only")
	default:
		to.PrefixRedirect = edit.Apply(part.prefix, part.prefix)
		return checkTarget(to.PrefixRedirect)
	}
}
