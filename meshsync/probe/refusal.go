package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

func unreachable(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens at the port"
	case isTimeout(err):
		return "no answer: is there a way from here to the pod's network?"
	default:
		return err.Error()
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// refusal is what an error of the handshake, or of the first read after it, means.
func (p *probing) refusal(err error) failure {
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return failure{ClearText, fmt.Sprintf("the answer is no TLS (%s): the handshake went to an application that speaks clear text, as a PERMISSIVE or absent proxy lets it", begin(record.RecordHeader))}
	}
	if alert := alertOf(err); alert != "" {
		return p.alert(alert)
	}
	switch {
	case isTimeout(err):
		return failure{Silent, "connected, and the handshake was not answered: a proxy that waits for another protocol, or a port that is opaque to it"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return failure{Reset, "the connection was closed at the ClientHello: likely a proxy that takes only its mesh's own clients here (PERMISSIVE, or a tunnel), or no TLS at the port"}
	case err == nil:
		return failure{}
	default:
		return failure{Refused, err.Error()}
	}
}

// begin is how an answer begins that is no TLS.
func begin(header [5]byte) string { return fmt.Sprintf("%q", header[:]) }

// alertOf is the other side's alert (RFC 8446, 6) as crypto/tls spells it; "" is
// none. The type is not exported, its texts are stable.
func alertOf(err error) string {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return ""
	}
	return strings.TrimPrefix(op.Err.Error(), "tls: ")
}

func (p *probing) alert(text string) failure {
	said := "the other side says: " + text
	switch text {
	case "no application protocol":
		return failure{ALPN, fmt.Sprintf("%s; offered was %s", said, strings.Join(p.offered(), ", "))}
	case "protocol version not supported":
		return failure{Version, said}
	case "unrecognized name":
		return failure{ServerName, fmt.Sprintf("%s; sent was %q", said, p.target.TLS.SNI)}
	case "certificate required", "bad certificate", "unsupported certificate", "revoked certificate", "expired certificate",
		"unknown certificate", "unknown certificate authority", "access denied":
		return failure{ClientCertificate, said + ": " + p.shown()}
	case "handshake failure":
		if p.result.Asked {
			return failure{ClientCertificate, said + ": " + p.shown()}
		}
	}
	return failure{Refused, said}
}

// shown is what the client had to show.
func (p *probing) shown() string {
	if !p.result.Shown {
		return "it asks for a client certificate, and none was shown"
	}
	return "the client certificate that was shown is refused"
}
