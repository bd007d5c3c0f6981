package serve

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// cors is the response headers that a policy allows, or the answer that needs no
// backend.
func (m *Matcher) cors(v *view, p *CORSPolicy) (allowed http.Header, own *Own) {
	origin := v.Header.Get("Origin")
	if p == nil || p.Disabled || origin == "" {
		return nil, nil
	}
	preflight := v.Method == http.MethodOptions && v.Header.Get("Access-Control-Request-Method") != ""
	if !slices.Contains(p.AllowOrigins, origin) && (m.s.CORSStar != Any || !slices.Contains(p.AllowOrigins, "*")) {
		if m.s.CORSForeign == Forbidden {
			return nil, &Own{Status: http.StatusForbidden, Cause: "cors_origin_refused"}
		}
		return nil, nil
	}
	h := http.Header{"Access-Control-Allow-Origin": {origin}}
	if p.AllowCredentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if !preflight {
		setList(h, "Access-Control-Expose-Headers", p.ExposeHeaders)
		return h, nil
	}
	if m.s.CORSPreflight == ByBackend {
		return h, nil
	}
	setList(h, "Access-Control-Allow-Methods", p.AllowMethods)
	setList(h, "Access-Control-Allow-Headers", p.AllowHeaders)
	if p.MaxAge != nil {
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(*p.MaxAge)))
	}
	status := http.StatusOK
	if m.s.CORSPreflightStatus == NoContent {
		status = http.StatusNoContent
	}
	return nil, &Own{Status: status, Header: h, Cause: "cors_preflight"}
}

func setList(h http.Header, name string, values []string) {
	if len(values) > 0 {
		h.Set(name, strings.Join(values, ","))
	}
}
