package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// persistence translates session persistence. A cookie without a name gets one
// that follows from its place, so that it is unique and stays the same.
func persistence(in *gwv1.SessionPersistence, at lbmodel.Source) (*lbmodel.Persistence, string) {
	if in == nil {
		return nil, ""
	}
	out := &lbmodel.Persistence{}
	var problem string
	if out.AbsoluteTimeout, problem = duration("sessionPersistence.absoluteTimeout", in.AbsoluteTimeout); problem != "" {
		return nil, problem
	}
	switch kind := deref(in.Type, gwv1.CookieBasedSessionPersistence); kind {
	case gwv1.CookieBasedSessionPersistence:
		return out, cookie(out, in.Cookie, at)
	case gwv1.HeaderBasedSessionPersistence:
		if in.Header == nil || in.Header.Name == "" {
			return nil, "sessionPersistence.header.name is required for type Header"
		}
		out.Kind, out.Name = lbmodel.PersistHeader, string(in.Header.Name)
		return out, ""
	default:
		return nil, fmt.Sprintf("sessionPersistence.type %q is not one of Cookie, Header", kind)
	}
}

func cookie(out *lbmodel.Persistence, in *gwv1.CookieConfig, at lbmodel.Source) string {
	out.Kind = lbmodel.PersistCookie
	if in != nil {
		out.Name = string(deref(in.Name, ""))
		out.Permanent = deref(in.LifetimeType, gwv1.SessionCookieLifetimeType) == gwv1.PermanentCookieLifetimeType
		if path := deref(in.Path, "/"); path != "/" {
			return fmt.Sprintf("sessionPersistence.cookie.path %q is not supported; the session cookie's path is /", path)
		}
	}
	if out.Name == "" {
		out.Name = "gatehouse-" + shortHash(at.String())
	}
	if out.Permanent && out.AbsoluteTimeout == 0 {
		return "sessionPersistence.absoluteTimeout is required for a Permanent cookie"
	}
	return ""
}
