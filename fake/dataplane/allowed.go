package dataplane

import (
	"fmt"
	"net/netip"

	"gatehouse.dev/lbmodel"
)

// allowed refuses addresses that no gateway may send to, whoever asked for them
// and whatever name led there (CVE-2021-32783, CVE-2020-8562). The text names
// the rule and not the address: it may reach the one who chose the name.
func (d *dialer) allowed(address netip.Addr) error {
	rule, bad := lbmodel.ForbiddenEndpoint(address)
	if !bad || rule == lbmodel.ForbiddenLoopback && d.loopback {
		return nil
	}
	return fmt.Errorf("%w: %s", errForbidden, rule)
}

// allowedName refuses names that stand for the cluster, the machine or the
// cloud, before they are ever resolved.
func (d *dialer) allowedName(name string) error {
	rule, bad := lbmodel.ForbiddenName(name)
	if !bad || rule == lbmodel.ForbiddenNameLocalhost && d.loopback {
		return nil
	}
	return fmt.Errorf("%w: %s", errForbidden, rule)
}
