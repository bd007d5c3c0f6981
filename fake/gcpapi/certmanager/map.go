package certmanager

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

// showMap adds the proxies that use the map, with their addresses.
func showMap(v store.View, n store.Name, o store.Object) {
	var targets []any
	for _, proxy := range v.Users(n) {
		field := map[string]string{"targetHttpsProxies": "targetHttpsProxy", "targetSslProxies": "targetSslProxy"}[proxy.Collection()]
		if field == "" {
			continue
		}
		target := store.Object{field: string(proxy)}
		var addresses []any
		for _, rule := range v.Users(proxy) {
			if r := v.Get(rule); rule.Collection() == "globalForwardingRules" || rule.Collection() == "forwardingRules" {
				addresses = append(addresses, store.Object{"ipAddress": r["IPAddress"], "ports": []any{port(store.Text(r, "portRange"))}})
			}
		}
		if len(addresses) > 0 {
			target["ipConfigs"] = addresses
		}
		targets = append(targets, target)
	}
	if len(targets) > 0 {
		o["gclbTargets"] = targets
	}
}

// port is the first one of a range, as a number.
func port(span string) any {
	first, _, _ := strings.Cut(span, "-")
	n := 0.0
	for _, digit := range first {
		n = n*10 + float64(digit-'0')
	}
	return n
}

func completeEntry(_ store.View, _ store.Name, o store.Object) { o["state"] = "ACTIVE" }

var hostname = regexp.MustCompile(`^(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkEntry is what an entry may say: a name or the matcher PRIMARY, which no other
// entry of the map has, and 1 to 4 certificates of the right scope.
func checkEntry(v store.View, n store.Name, was, o store.Object) error {
	name, matcher := store.Text(o, "hostname"), store.Text(o, "matcher")
	switch {
	case (name == "") == (matcher == "" || matcher == "MATCHER_UNSPECIFIED"):
		return store.Bad("Invalid certificate map entry: exactly one of hostname and matcher must be set.")
	case name != "" && !hostname.MatchString(name):
		return store.Bad("Invalid hostname: '%s'.", name)
	}
	all := store.List(o, "certificates")
	if len(all) == 0 || len(all) > 4 {
		return store.Bad("Invalid certificates: from 1 to 4 must be set, not %d.", len(all))
	}
	for _, one := range all {
		text, _ := one.(string)
		c := v.Get(store.NameOf(Host, text))
		if scope := store.Text(c, "scope"); c != nil && !slices.Contains([]string{"", scopeDefault, "EDGE_CACHE"}, scope) {
			return store.Bad("Invalid certificates: '%s' is of scope %s.", text, scope)
		}
		if c != nil && strings.Split(text, "/")[3] != "global" {
			return store.Bad("Invalid certificates: '%s' is not in location global.", text)
		}
	}
	if was != nil {
		return nil
	}
	for _, other := range v.List(Host, "certificateMapEntries", n.Scope()) {
		if o := v.Get(other); store.Text(o, "hostname") == name && store.Text(o, "matcher") == matcher {
			return &store.Error{Status: 409, Reason: store.AlreadyExists, Message: "The certificate map entry '" + other.Path() + "' has the same hostname or matcher."}
		}
	}
	return nil
}

// completeAuthorization is the record that would prove the domain.
func completeAuthorization(_ store.View, n store.Name, o store.Object) {
	sum := sha256.Sum256([]byte(n))
	label := hex.EncodeToString(sum[:8])
	o["dnsResourceRecord"] = store.Object{"name": "_acme-challenge." + store.Text(o, "domain") + ".", "type": "CNAME", "data": label + ".authorize.certificatemanager.goog."}
}

func checkAuthorization(_ store.View, _ store.Name, _, o store.Object) error {
	if domain := store.Text(o, "domain"); !hostname.MatchString(domain) || strings.HasPrefix(domain, "*") {
		return store.Bad("Invalid domain: '%s'.", domain)
	}
	return nil
}
