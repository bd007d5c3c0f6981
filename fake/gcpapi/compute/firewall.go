package compute

import (
	"cmp"
	"net/netip"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) firewalls() *store.Kind {
	return &store.Kind{
		Collection: "firewalls", Schema: "Firewall", Noun: "firewall", Quota: counted("FIREWALLS"), Immutable: []string{"name", "network", "direction"},
		Default: s.completeFirewall, Check: checkFirewall, References: []store.Reference{to("network", "networks")},
	}
}

func (s *service) completeFirewall(_ store.View, n store.Name, o store.Object) {
	o["direction"] = cmp.Or(store.Text(o, "direction"), "INGRESS")
	whole(o, "priority", 1000)
	if o["network"] == nil {
		o["network"] = link(s.defaultNetwork(n))
	}
	if o["disabled"] == nil {
		o["disabled"] = false
	}
	if o["logConfig"] == nil {
		o["logConfig"] = store.Object{"enable": false}
	}
	switch {
	case o["direction"] == "EGRESS" && o["destinationRanges"] == nil:
		o["destinationRanges"] = []any{"0.0.0.0/0"}
	case o["direction"] == "INGRESS" && o["sourceRanges"] == nil && o["sourceTags"] == nil && o["sourceServiceAccounts"] == nil:
		o["sourceRanges"] = []any{"0.0.0.0/0"}
	}
}

func checkFirewall(_ store.View, _ store.Name, _, o store.Object) error {
	allowed, denied := store.List(o, "allowed"), store.List(o, "denied")
	if (len(allowed) == 0) == (len(denied) == 0) {
		return store.BadField("allowed", len(allowed), "Exactly one of allowed and denied must be specified.")
	}
	if p, _ := o["priority"].(float64); p < 0 || p > 65535 {
		return store.BadField("priority", p, "Must be between 0 and 65535.")
	}
	for i, r := range append(allowed, denied...) {
		one, _ := r.(store.Object)
		if store.Text(one, "IPProtocol") == "" {
			return required("resource.allowed[" + number(i) + "].IPProtocol")
		}
		if _, ok := ports(store.Object{"ports": one["ports"]}); !ok {
			return store.BadField("allowed["+number(i)+"].ports", show(one["ports"]), "Must be ports or ranges of ports.")
		}
	}
	for _, field := range []string{"sourceRanges", "destinationRanges"} {
		if len(store.List(o, field)) > 5000 {
			return store.BadField(field, len(store.List(o, field)), "At most 5000 ranges can be specified.")
		}
		for _, r := range store.List(o, field) {
			text, _ := r.(string)
			_, err := netip.ParsePrefix(text)
			if _, bare := netip.ParseAddr(text); err != nil && bare != nil {
				return store.BadField(field, text, "Must be a range in CIDR notation.")
			}
		}
	}
	return nil
}
