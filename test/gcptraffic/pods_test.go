package gcptraffic

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// pod is an application that answers with its name and what it was asked.
func (w *world) pod(address, name string) {
	w.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(out, "%s %s %s%s %s", name, r.Method, r.Host, r.RequestURI, r.Header.Get("X-Set"))
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			_ = http.NewResponseController(out).Flush()
			out.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	w.Cleanup(s.Close)
	w.place(fmt.Sprintf("%s:%d", address, podPort), s.Listener.Addr().String())
}

// lines is an application that answers each line with its name; over TLS with a
// certificate.
func (w *world) lines(endpoint, name string, certificate *tls.Certificate) {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.do(err)
	w.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			if certificate != nil {
				conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*certificate}})
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					_, _ = fmt.Fprintf(conn, "%s %s\n", name, in.Text())
				}
			}()
		}
	}()
	w.place(endpoint, l.Addr().String())
}

// datagrams is an application that answers each datagram with its name, and health
// checks.
func (w *world) datagrams(address, name string, port, health int) {
	w.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	w.do(err)
	w.Cleanup(func() { conn.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(name+" "+string(buffer[:n])), from)
		}
	}()
	w.place(fmt.Sprintf("%s:%d", address, port), conn.LocalAddr().String())
	ready := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w.Cleanup(ready.Close)
	w.place(fmt.Sprintf("%s:%d", address, health), ready.Listener.Addr().String())
}

// says is the answer to a line over a connection, which is closed.
func says(conn net.Conn, line string) string {
	defer conn.Close()
	_, _ = io.WriteString(conn, line+"\n")
	got, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(got)
}
