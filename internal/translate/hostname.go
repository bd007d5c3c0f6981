package translate

import (
	"net/netip"
	"strings"
)

// badHostname says whether a hostname is not one of Gateway API's: a DNS name in
// lower case, with or without "*." in front, and no address. The CRDs refuse such
// names; files and old objects may still hold one. "" is any host and fine.
func badHostname(name string) bool {
	if name == "" {
		return false
	}
	rest := strings.TrimPrefix(name, "*.")
	if _, err := netip.ParseAddr(rest); err == nil || len(name) > 253 {
		return true
	}
	for label := range strings.SplitSeq(rest, ".") {
		if badLabel(label) {
			return true
		}
	}
	return false
}

func badLabel(label string) bool {
	return label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
		strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
}
