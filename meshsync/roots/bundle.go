package roots

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// Stale is how long a bundle may go unread before that is more than an interruption.
// It is the shortest life of a CA that is common (SPIRE's default).
const Stale = 24 * time.Hour

// Bundle is what is known of one trust domain's roots.
type Bundle struct {
	// Name is the trust domain; of a File what it was named, and "" when nothing could
	// be read yet that says it.
	Name string
	// Roots are the last good ones, in the normal form of lbmodel.ParseRoots. None
	// means that there never were any: a bundle does not become empty.
	Roots    []lbmodel.Root
	Sequence uint64 // as the publisher counts its changes; 0: it does not, or 0

	At        time.Time // when Roots were last seen published; zero: never
	RefreshAt time.Time // when they are read again; zero: the source tells of changes
	Problem   string    // why the last reading was not good; "": it was
	Since     time.Time // when Problem, or one before it without a good reading between, began
	// Refused says that Problem is no interruption that may pass by itself: what is
	// published is not taken, whoever publishes it is not who it should be, or the source
	// refuses to be read.
	Refused bool
}

// PEM is the text of all roots.
func (b Bundle) PEM() string {
	var text strings.Builder
	for _, r := range b.Roots {
		text.WriteString(r.PEM)
	}
	return text.String()
}

// Age is for how long nobody knows whether the roots are those that are published.
// It is zero while a source that tells of changes is there, and before there are any.
func (b Bundle) Age(now time.Time) time.Duration {
	if b.At.IsZero() || b.Problem == "" && b.RefreshAt.IsZero() {
		return 0
	}
	return max(0, now.Sub(b.At))
}

// Condition is what a person has to be told: that there are no roots, that they are not
// taken from their source (Refused), or that they could not be read for a day, and since when.
// Shorter interruptions are told by Problem alone.
func (b Bundle) Condition(now time.Time) string {
	switch failing := now.Sub(b.Since); {
	case b.Problem == "":
		return ""
	case len(b.Roots) == 0:
		return "there are no roots yet: " + b.Problem
	case b.Refused:
		return fmt.Sprintf("no roots are taken from their source since %s: %s; those of %s stay",
			b.Since.UTC().Format(time.RFC3339), b.Problem, b.At.UTC().Format(time.RFC3339))
	case failing >= Stale:
		return fmt.Sprintf("the roots could not be read since %s: %s; those of %s stay until they can",
			b.Since.UTC().Format(time.RFC3339), b.Problem, b.At.UTC().Format(time.RFC3339))
	default:
		return ""
	}
}

// SameRoots says whether two lists have the same certificates, in whatever order and
// however often.
func SameRoots(a, b []lbmodel.Root) bool {
	return sameBy(a, b, certificate)
}

// SameKeys says whether two lists have the same keys (Root.SPKI): a root that was
// signed anew with its key verifies what the old one did.
func SameKeys(a, b []lbmodel.Root) bool {
	return sameBy(a, b, key)
}

func certificate(r lbmodel.Root) string { return r.SHA256 }
func key(r lbmodel.Root) string         { return r.SPKI }

func sameBy(a, b []lbmodel.Root, of func(lbmodel.Root) string) bool {
	return slices.Equal(setOf(a, of), setOf(b, of))
}

func setOf(roots []lbmodel.Root, of func(lbmodel.Root) string) []string {
	var out []string
	for _, r := range roots {
		out = append(out, of(r))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// normal is lbmodel's form of certificates.
func normal(certs []*x509.Certificate) ([]lbmodel.Root, error) {
	if len(certs) > lbmodel.MaxRoots {
		return nil, fmt.Errorf("%d certificates are more than the %d that a bundle of roots may have", len(certs), lbmodel.MaxRoots)
	}
	var text []byte
	for _, c := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return lbmodel.ParseRoots(text)
}

// certificates are those of roots. They come from lbmodel, which made the PEM, so
// that none is lost.
func certificates(roots []lbmodel.Root) []*x509.Certificate {
	var out []*x509.Certificate
	for _, r := range roots {
		if block, _ := pem.Decode([]byte(r.PEM)); block != nil {
			if c, err := x509.ParseCertificate(block.Bytes); err == nil {
				out = append(out, c)
			}
		}
	}
	return out
}
