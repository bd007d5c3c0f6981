package meshsync

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// lack is one thing that is missing for a path.
type lack struct {
	reason Reason
	says   string
}

// missing is a lack of an ability of the provider's.
func missing(reason Reason, f lbmodel.Feature) lack {
	return lack{reason, "the provider lacks " + string(f) + " (" + f.Describe() + ")"}
}

// unless is no lack if ok.
func (l lack) unless(ok ...bool) []lack {
	if slices.Contains(ok, true) {
		return nil
	}
	return []lack{l}
}

// lacks are what is missing for TLS with the proxies, whatever is spoken inside.
func (j judgement) lacks() []lack {
	out := slices.Concat(j.noIdentity(), j.noClientKey(), j.noSNI(), j.noTLS13())
	if !j.unverified() {
		out = slices.Concat(out, j.noName(), j.noRoots(), j.noSANs())
	}
	return out
}

// refused is what comes of lacks: the worst is the reason, and all are told.
func (j judgement) refused(lacks []lack) Verdict {
	slices.SortStableFunc(lacks, func(a, b lack) int { return a.reason.rank() - b.reason.rank() })
	says := make([]string, len(lacks))
	for i, l := range lacks {
		says[i] = l.says
	}
	return j.blocked(lacks[0].reason, strings.Join(says, "; "))
}

// level is what a provider of these abilities reaches if nothing is lacking.
func (j judgement) level() lbmodel.TLSLevel {
	switch {
	case j.unverified():
		return lbmodel.TLSUnverified
	case j.hop.Anonymous || j.in.Unasked || !j.has.Offers(lbmodel.FeatureBackendTLSIdentity):
		return lbmodel.TLSServerOnly
	default:
		return lbmodel.TLSClientAndServer
	}
}

// unverified says that the provider encrypts and verifies nobody, and that this is
// enough: for the proxy, which lets any client in, and for the minimum.
func (j judgement) unverified() bool {
	return !j.has.Offers(lbmodel.FeatureBackendTLSTrust) && j.has.Offers(lbmodel.FeatureBackendTLSUnverified) &&
		j.in.AnyClient && lbmodel.TLSUnverified.AtLeast(j.floor())
}

func (j judgement) noName() []lack {
	return lack{ReasonIdentityUnknown, "nothing says whom the proxies' certificates name"}.unless(j.in.SNI != "", len(j.in.Names) > 0)
}

func (j judgement) noIdentity() []lack {
	return lack{ReasonClientCertificate, "the proxies let in only clients with a certificate, and " + j.noClientCertificate()}.
		unless(j.in.AnyClient, !j.hop.Anonymous && j.has.Offers(lbmodel.FeatureBackendTLSIdentity))
}

// noClientKey is a client certificate that the proxies cannot verify, for the type of
// its key. A proxy that lets in clients without one refuses it all the same.
func (j judgement) noClientKey() []lack {
	return lack{ReasonClientCertificate, fmt.Sprintf("the proxies verify only client certificates with a key of type %s, and the gateway's is %s",
		strings.Join(j.in.ClientKeys, " or "), j.hop.ClientKey)}.unless(!j.unfitKey())
}

func (j judgement) unfitKey() bool {
	return len(j.in.ClientKeys) > 0 && j.hop.ClientKey != "" && j.level() == lbmodel.TLSClientAndServer &&
		!slices.Contains(j.in.ClientKeys, j.hop.ClientKey)
}

// noClientCertificate is why the gateway shows none.
func (j judgement) noClientCertificate() string {
	switch {
	case j.in.Unasked:
		return "the proxies ask for none"
	case j.hop.Anonymous:
		return "the gateway has none"
	}
	return missing("", lbmodel.FeatureBackendTLSIdentity).says
}

func (j judgement) noRoots() []lack {
	out := missing(ReasonPrivateRoots, lbmodel.FeatureBackendTLSTrust).unless(j.has.Offers(lbmodel.FeatureBackendTLSTrust))
	return append(out, exceeded(ReasonTooManyRoots, "roots", j.hop.Roots, j.has.Limits.Roots)...)
}

func (j judgement) noSNI() []lack {
	return missing(ReasonSNI, lbmodel.FeatureBackendTLSSNI).unless(j.in.SNI == "", j.has.Offers(lbmodel.FeatureBackendTLSSNI))
}

// noTLS13 asks for a client that speaks TLS 1.3. It need not be able to demand it:
// the proxy does.
func (j judgement) noTLS13() []lack {
	return missing(ReasonTLS13, lbmodel.FeatureBackendTLS13).
		unless(j.in.MinVersion != "1.3", j.has.Offers(lbmodel.FeatureBackendTLSMin13), j.has.Offers(lbmodel.FeatureBackendTLS13))
}

// minVersion is what to demand. TLS 1.3 is not demanded of a provider that only
// speaks it: the proxy refuses less.
func (j judgement) minVersion() string {
	if j.in.MinVersion == "1.3" && !j.has.Offers(lbmodel.FeatureBackendTLSMin13) {
		return ""
	}
	return j.in.MinVersion
}

func (j judgement) noSANs() []lack {
	sans := j.sans()
	none := func(kind lbmodel.SANKind) bool {
		return !slices.ContainsFunc(sans, func(s lbmodel.SAN) bool { return s.Kind == kind })
	}
	return slices.Concat(
		missing(ReasonSAN, lbmodel.FeatureBackendTLSURISAN).unless(none(lbmodel.SANURI), j.has.Offers(lbmodel.FeatureBackendTLSURISAN)),
		missing(ReasonSAN, lbmodel.FeatureBackendTLSDNSSAN).unless(none(lbmodel.SANDNS), j.has.Offers(lbmodel.FeatureBackendTLSDNSSAN)),
		exceeded(ReasonTooManySANs, "names in certificates", len(sans), j.has.Limits.SANs),
	)
}

// sans are the names to verify. The server name alone needs no list: it is
// verified anyway. Next to other names it must be in it, for a list replaces it.
func (j judgement) sans() []lbmodel.SAN {
	if j.unverified() {
		return nil
	}
	own := lbmodel.SAN{Kind: lbmodel.SANDNS, Value: j.in.SNI}
	if !slices.ContainsFunc(j.in.Names, func(s lbmodel.SAN) bool { return s != own }) {
		return nil
	}
	return slices.Clone(j.in.Names)
}

func exceeded(reason Reason, what string, n, limit int) []lack {
	return lack{reason, fmt.Sprintf("the provider takes at most %d %s, and there are %d", limit, what, n)}.unless(limit == 0, n <= limit)
}

// noALPN is the lack of a proxy and a provider that agree on no protocol.
func (j judgement) noALPN() lack {
	out := lack{ReasonALPN, fmt.Sprintf("the proxy negotiates no ALPN protocol over which the provider can speak %s", j.hop.Protocol)}
	for _, a := range attempts(j.hop.Protocol) {
		if !j.speaks(a.protocol) {
			return missing(ReasonALPN, lbmodel.Feature(a.protocol))
		}
	}
	if !j.has.Offers(lbmodel.FeatureBackendTLSALPN) {
		out.says += ", and " + missing("", lbmodel.FeatureBackendTLSALPN).says
	}
	return out
}

// belowMinimum says how far a level is from what is asked.
func (j judgement) belowMinimum(level lbmodel.TLSLevel) string {
	says := fmt.Sprintf("TLS to the proxy would be %s, below the minimum %s", level, j.floor())
	if j.hop.Selected {
		says = fmt.Sprintf("TLS to the proxy would be %s, and the binding's selector names this backend, so it must be mutual TLS", level)
	}
	return says + ": " + j.noClientCertificate()
}
