package dataplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"gatehouse.dev/lbmodel"
)

// Reason is why a backend is in trouble.
type Reason string

// The reasons.
const (
	ReasonRefused           Reason = "Refused"           // nothing listens there
	ReasonTimeout           Reason = "Timeout"           // it did not accept in time
	ReasonUnresolved        Reason = "Unresolved"        // its name has no address
	ReasonForbidden         Reason = "Forbidden"         // its name leads where no gateway may send
	ReasonUnreachable       Reason = "Unreachable"       // another failure to connect
	ReasonUnknownCA         Reason = "UnknownCA"         // its certificate ends in no trusted root
	ReasonWrongName         Reason = "WrongName"         // its certificate is somebody else's
	ReasonExpired           Reason = "Expired"           // its certificate, or one above it, is out of date
	ReasonBadCertificate    Reason = "BadCertificate"    // its certificate is wrong in another way
	ReasonClientCertificate Reason = "ClientCertificate" // it does not take ours, or wants one
	ReasonNotTLS            Reason = "NotTLS"            // it speaks plain text
	ReasonTLS               Reason = "TLS"               // another failure of the handshake
	ReasonProtocol          Reason = "Protocol"          // it chose a protocol that the pool does not speak
	ReasonBrokeOff          Reason = "BrokeOff"          // it closed the connection without an answer
	ReasonBadAnswer         Reason = "BadAnswer"         // its answer can't be understood
)

// diagnose says why an exchange with an endpoint failed: in TLS, before TLS, or
// when all that was done.
func diagnose(err error, d *dialer) (Reason, string) {
	if reason, detail := diagnoseCertificate(err); reason != "" {
		return reason, detail
	}
	if reason, detail := diagnoseHandshake(err, d); reason != "" {
		return reason, detail
	}
	if errors.As(err, new(*connectError)) {
		return diagnoseConnect(err, d)
	}
	if brokeOff(err) {
		return ReasonBrokeOff, "it closed the connection before it had answered"
	}
	return ReasonBadAnswer, fmt.Sprintf("its answer is no %s that can be passed on; does the port speak another protocol, or TLS?", d.protocol)
}

func diagnoseCertificate(err error) (Reason, string) {
	var unknown x509.UnknownAuthorityError
	var name *nameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		issuer := ""
		if unknown.Cert != nil {
			issuer = fmt.Sprintf(" (its issuer is %q)", clip(unknown.Cert.Issuer.String()))
		}
		return ReasonUnknownCA, "its certificate does not end in a CA that is trusted for it" + issuer + "; trust that CA, or give the backend a certificate of a trusted one"
	case errors.As(err, &name):
		return ReasonWrongName, fmt.Sprintf("its certificate is for %q, wanted is %q", clip(name.presented), clip(name.wanted))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ReasonExpired, validity(invalid.Cert)
	case errors.As(err, &invalid):
		return ReasonBadCertificate, "its certificate is not valid: " + clip(invalid.Error())
	case errors.Is(err, errNoCertificate):
		return ReasonBadCertificate, "it sent no certificate"
	default:
		return "", ""
	}
}

// validity is the sentence for a certificate outside its time. It may be one above
// the backend's own.
func validity(c *x509.Certificate) string {
	if time.Now().Before(c.NotBefore) {
		return fmt.Sprintf("its certificate %q is not valid before %s; are the clocks right?", clip(lbmodel.CertificateName(c)), c.NotBefore.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("its certificate %q expired at %s; renew it", clip(lbmodel.CertificateName(c)), c.NotAfter.UTC().Format(time.RFC3339))
}

func diagnoseHandshake(err error, d *dialer) (Reason, string) {
	var record tls.RecordHeaderError
	var protocol *protocolError
	var remote *net.OpError
	switch {
	case errors.As(err, &record):
		return ReasonNotTLS, "it does not speak TLS on this port, and the gateway sends no plain text where TLS is asked for"
	case errors.As(err, &protocol):
		return ReasonProtocol, protocol.Error()
	case errors.As(err, &remote) && remote.Op == "remote error":
		return diagnoseAlert(remote.Err.Error(), d)
	default:
		return "", ""
	}
}

// diagnoseAlert explains a TLS alert (RFC 8446 §6.2). In TLS 1.3 a server judges
// the client's certificate when the client holds the handshake to be over.
func diagnoseAlert(alert string, d *dialer) (Reason, string) {
	presents := d.tls != nil && d.tls.config.GetClientCertificate != nil
	for _, about := range []string{"certificate", "handshake failure", "access denied"} {
		switch {
		case !strings.Contains(alert, about):
			continue
		case presents:
			return ReasonClientCertificate, fmt.Sprintf("it does not accept the gateway's client certificate (%s); make it trust the gateway's CA", alert)
		case about == "certificate":
			return ReasonClientCertificate, fmt.Sprintf("it wants a client certificate and the gateway has none for it (%s)", alert)
		}
	}
	return ReasonTLS, fmt.Sprintf("it ended the TLS handshake (%s)", alert)
}

func diagnoseConnect(err error, d *dialer) (Reason, string) {
	var dns *net.DNSError
	switch {
	case errors.Is(err, errForbidden):
		return ReasonForbidden, "its name leads to an address that no gateway may send to"
	case errors.As(err, &dns):
		return ReasonUnresolved, fmt.Sprintf("its name %q cannot be resolved: %s", clip(dns.Name), clip(dns.Err))
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonRefused, "nothing listens there: the connection was refused"
	case isTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ReasonTimeout, fmt.Sprintf("it did not accept a connection within %s", d.limits.ConnectTime)
	case d.tls != nil && brokeOff(err):
		return ReasonTLS, "it closed the connection in the TLS handshake; does the port speak TLS?"
	default:
		return ReasonUnreachable, "it cannot be reached: " + clip(err.Error())
	}
}

// brokeOff says whether a connection ended from the other side.
func brokeOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// clip bounds a text that may be a stranger's.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
