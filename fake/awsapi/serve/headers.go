package serve

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// targetHeaders makes the headers of the request to the target from the client's.
// out begins without X-Forwarded-… and hop-by-hop headers.
func (x *exchange) targetHeaders(out http.Header) {
	for _, name := range []string{"Forwarded", "X-Forwarded-Host"} { // not the load balancer's: they pass
		if values, ok := x.in.Header[name]; ok {
			out[name] = values
		}
	}
	alb := &x.front.balancer.alb
	if alb.dropInvalid {
		for name := range out {
			if !validName(name) {
				delete(out, name)
			}
		}
	}
	x.forwardedFor(out)
	protocol := "http"
	if x.in.TLS != nil {
		protocol = "https"
	}
	x.setOwn(out, "X-Forwarded-Proto", protocol)
	x.setOwn(out, "X-Forwarded-Port", strconv.Itoa(int(x.front.Port)))
	x.traceID(out)
	x.tlsHeaders(out)
}

// own1 sets a header that a client may have tried to set itself.
func (x *exchange) setOwn(out http.Header, name, value string) {
	if had := x.in.Header.Values(name); len(had) > 0 && x.front.u.ForwardedProto == Kept {
		out[name] = had
		return
	}
	out.Set(name, value)
}

func (x *exchange) forwardedFor(out http.Header) {
	const name = "X-Forwarded-For"
	had := x.in.Header.Values(name)
	switch x.front.balancer.alb.forwardedFor {
	case "remove":
		out.Del(name)
	case "preserve":
		if len(had) > 0 {
			out[name] = had
		}
	default:
		out.Set(name, strings.Join(append(had[:len(had):len(had)], x.peer()), ", "))
	}
}

func (x *exchange) peer() string {
	if x.front.balancer.alb.clientPort {
		return x.client.String()
	}
	return x.client.Addr().String()
}

// maxTrace is where a client's own trace header is replaced, in bytes.
const maxTrace = 7 << 10

// traceID adds this hop to X-Amzn-Trace-Id.
func (x *exchange) traceID(out http.Header) {
	const name = "X-Amzn-Trace-Id"
	id := fmt.Sprintf("1-%08x-%s", uint32(x.socket.plane.options.Clock.Now().Unix()), randomHex(12))
	had := x.in.Header.Get(name)
	switch {
	case had == "" || len(had) > maxTrace:
		out.Set(name, "Root="+id)
	case strings.Contains(had, "Root="):
		out.Set(name, "Self="+id+";"+had)
	default:
		out.Set(name, "Root="+id+";"+had)
	}
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// tlsHeaders tells of the client's certificate and TLS, and of nothing that the
// client itself says about them.
func (x *exchange) tlsHeaders(out http.Header) {
	attributes := &x.front.attributes
	if x.front.u.SpoofedAmazon == Stripped {
		for name := range out {
			if strings.HasPrefix(name, "X-Amzn-Mtls-") || strings.HasPrefix(name, "X-Amzn-Tls-") {
				delete(out, name)
			}
		}
		for _, name := range mutualHeaders {
			out.Del(attributes.requestHeader(name))
		}
	}
	if x.in.TLS == nil {
		return
	}
	if x.front.tls != nil && x.front.tls.mutual != nil {
		x.front.tls.mutual.tell(out, x.in.TLS, attributes)
	}
	if x.front.balancer.alb.tlsHeaders {
		out.Set(attributes.requestHeader("X-Amzn-Tls-Version"), versionName(x.in.TLS.Version))
		out.Set(attributes.requestHeader("X-Amzn-Tls-Cipher-Suite"), cipherName(x.in.TLS.CipherSuite))
	}
}

// versionName is OpenSSL's.
func versionName(v uint16) string {
	if v == tls.VersionTLS10 {
		return "TLSv1"
	}
	return strings.Replace(tls.VersionName(v), "TLS ", "TLSv", 1)
}

// cipherName is OpenSSL's, which drops TLS_ and WITH_ except in TLS 1.3.
func cipherName(id uint16) string {
	name, before13 := strings.CutPrefix(tls.CipherSuiteName(id), "TLS_")
	kind, cipher, ok := strings.Cut(name, "_WITH_")
	if !before13 || !ok {
		return tls.CipherSuiteName(id)
	}
	cipher = strings.NewReplacer("AES_128_CBC", "AES128", "AES_256_CBC", "AES256", "AES_128", "AES128", "AES_256", "AES256",
		"CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305").Replace(cipher)
	if kind == "RSA" {
		return strings.ReplaceAll(cipher, "_", "-")
	}
	return strings.ReplaceAll(kind+"-"+cipher, "_", "-")
}

// targetHost is the Host that the target gets.
func (x *exchange) targetHost() string {
	rewritten := x.host != x.request.Host
	if x.front.balancer.alb.preserveHost && !rewritten || rewritten && x.front.u.RewriteHostPort == AsRewritten {
		return x.host
	}
	if x.host == "" {
		return x.host
	}
	standard := int32(80)
	if x.in.TLS != nil {
		standard = 443
	}
	bare := hostOnly(x.host)
	switch {
	case x.front.Port != standard && bare == x.host:
		return net.JoinHostPort(strings.Trim(bare, "[]"), strconv.Itoa(int(x.front.Port)))
	case x.front.Port == standard && x.host == bare+":"+strconv.Itoa(int(standard)):
		return bare
	default:
		return x.host
	}
}
