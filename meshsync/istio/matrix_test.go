package istio

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

var (
	sidecarRow = regexp.MustCompile(`^D (\w+) +svcproto=(\w*) +port=(\d+) mTLS alpn=(\S+) +=> (.*)$`)
	gatewayRow = regexp.MustCompile(`^G port=(\d+) sni="(.*)" +alpn=(\S+) +=> (.*)$`)
)

const noChain = "no filter chains matched"

// TestMatrix compares every row that Istio's own configuration gave with what the
// dialect says of the same pod, port and client.
func TestMatrix(t *testing.T) {
	rows := matrix(t)
	if len(rows) != 57 {
		t.Fatalf("%d rows, want the 57 that were recorded", len(rows))
	}
	for _, row := range rows {
		t.Run(row, func(t *testing.T) {
			if m := sidecarRow.FindStringSubmatch(row); m != nil {
				compare(t, row, sidecarResult(t, m[1], m[2], number(t, m[3]), m[4]), m[5])
				return
			}
			m := gatewayRow.FindStringSubmatch(row)
			if m == nil {
				t.Fatal("cannot read the row")
			}
			compare(t, row, gatewayResult(t, number(t, m[1]), m[2], m[3]), m[4])
		})
	}
}

func compare(t *testing.T, row, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", row, got, want)
	}
}

func sidecarResult(t *testing.T, mode, proto string, port int32, alpn string) string {
	w := meshtest.Parse(t, shopService, shopPod, wide(mode))
	d := Dialect{}
	m := d.Mesh(w)
	at := w.Port("apps", "shop")
	at.Service.Spec.Ports = []corev1.ServicePort{{Name: strings.ToLower(proto), Port: 80}}
	at.Port, at.Target = corev1.ServicePort{Port: port}, port // a port that no Service declares
	if port == 80 {
		at.Port = at.Service.Spec.Ports[0]
	}
	in := d.Inbound(w, m, at, w.Pod("apps", "shop-1"))
	result, err := meet(in, alpn, ClientPrefixes(m))
	return result + " | err=" + err
}

// The listeners of the recorded gateway; foo.bar is where its route leads.
const (
	padRoute   = "outbound|80||foo.bar"
	padGateway = `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: pad, namespace: istio-ingress}
spec:
  selector: {istio: ingressgateway}
  servers:
  - {name: one, hosts: [foo.bar], port: {name: https-one, number: 443, protocol: HTTPS}, tls: {mode: ISTIO_MUTUAL}}
  - {name: any, hosts: ["*"], port: {name: https-any, number: 8443, protocol: HTTPS}, tls: {mode: ISTIO_MUTUAL}}
  - {name: east-west, hosts: ["*"], port: {name: tls, number: 15443, protocol: TLS}, tls: {mode: AUTO_PASSTHROUGH}}`
)

func gatewayResult(t *testing.T, port int32, sni, alpn string) string {
	w := meshtest.Parse(t, padGateway)
	section := map[int32]string{443: "one", 8443: "any", 15443: "east-west"}[port]
	pad := PadOf(Dialect{}.Mesh(w), w.Objects(istioGateway, "istio-ingress")[0], section, meshsync.Account{Namespace: "istio-ingress", Name: "pad"})
	switch {
	case slices.Contains(pad.Forwards, alpn):
		return "NO-TLS-TERMINATION TCP_PROXY cluster=" + sni + " | err="
	case pad.SNI != "" && pad.SNI != sni:
		return "none cluster= | err=" + noChain
	}
	result, err := meet(pad.Inbound, alpn, nil)
	cluster := padRoute
	if err != "" {
		cluster = ""
	}
	return result + " cluster=" + cluster + " | err=" + err
}

// meet is a proxy that does as the Inbound says, and a client that offers one ALPN
// protocol: in the matrix's words, what becomes of the connection.
func meet(in meshsync.Inbound, alpn string, prefixes []string) (result, err string) {
	i := slices.IndexFunc(in.Chains, func(c meshsync.Chain) bool { return c.Offer == nil || slices.Contains(c.Offer, alpn) })
	switch {
	case i >= 0:
		inside := "TCP_PROXY"
		if in.Chains[i].HTTP {
			inside = "HCM"
		}
		return fmt.Sprintf("TLS req=%t alpn=%v sanmatch=%v %s", !in.AnyClient, in.Chains[i].Selects, prefixes, inside), ""
	case in.Otherwise == meshsync.Passes:
		return "NO-TLS-TERMINATION TCP_PROXY", ""
	default:
		return "none", noChain
	}
}

func matrix(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/inbound-matrix.txt")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(lines(string(text)), func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
}

func lines(text string) []string { return strings.Split(text, "\n") }

func number(t *testing.T, text string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}
