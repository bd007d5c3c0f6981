package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/ec2"
	"gatehouse.dev/fake/awsapi/live"
	"gatehouse.dev/fake/awsapi/serve"
	"gatehouse.dev/test/cluster"
)

// The account under test. Its VPC is the pods' network, and its load balancers'
// listeners are bound to addresses of the gateways', each at its own port.
const (
	awsRegion   = "eu-west-1"
	awsVPC      = "vpc-0c0f0a0b0c0d0e0f1"
	awsBucket   = "conformance-trust"
	awsEndpoint = "127.0.0.1:4566"
)

// account starts the emulator, with its load balancers at work, until the test ends.
// For this process their DNS names lead to them.
func account(t *testing.T) *live.Live {
	t.Helper()
	where := &places{next: cluster.Gateways[0].Addr(), of: map[string]netip.Addr{}}
	l := live.Start(t.Context(), live.Config{
		API: awsapi.Config{
			Region: awsRegion, World: awsWorld(), Bind: where.bind,
			UndocumentedTraffic: serve.Undocumented{HeaderRegexCase: serve.Sensitive}, // asked for only where it is assumed
			Limits:              map[string]int{"application-load-balancers": 500, "network-load-balancers": 500, "target-groups": 3000},
		},
		Every: 100 * time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_ = l.Close(ctx) // what a client holds open is cut then
	})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", awsEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	makeBucket(t)
	before := net.DefaultResolver
	net.DefaultResolver = l.Resolver()
	t.Cleanup(func() { net.DefaultResolver = before })
	return l
}

// awsWorld is a VPC of two zones, in which all pods have their addresses.
func awsWorld() ec2.World {
	out := ec2.World{VPCs: []ec2.VPC{{ID: awsVPC, CIDR: cluster.Pods[0], Internet: true}}}
	for i, cidr := range []string{"10.244.0.0/17", "10.244.128.0/17"} {
		out.Subnets = append(out.Subnets, ec2.Subnet{ID: awsSubnet(i), VPC: awsVPC, Zone: awsRegion + string(rune('a'+i)), Public: true, CIDR: netip.MustParsePrefix(cidr)})
	}
	return out
}

func awsSubnet(i int) string { return fmt.Sprintf("subnet-%017x", i+1) }

// places gives every load balancer an address of its own.
type places struct {
	mu   sync.Mutex
	next netip.Addr
	of   map[string]netip.Addr
}

func (p *places) bind(loadBalancer string, port int) []netip.AddrPort {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.of[loadBalancer]
	if !ok {
		p.next = p.next.Next()
		at = p.next
		p.of[loadBalancer] = at
	}
	return []netip.AddrPort{netip.AddrPortFrom(at, uint16(port))}
}

// makeBucket makes the versioned bucket that trust stores are made of.
func makeBucket(t *testing.T) {
	t.Helper()
	put(t, "", "")
	put(t, "?versioning", `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`)
}

func put(t *testing.T, query, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+awsEndpoint+"/"+awsBucket+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/"+awsRegion+"/s3/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("PUT /%s%s: status %d", awsBucket, query, resp.StatusCode)
	}
}
