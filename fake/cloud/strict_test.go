package cloud

import (
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// stage is an account with one object of each kind, used as the tests need.
type stage struct {
	*Cloud
	address, spare, network, balancer, listener, rule, pool, group, trust, certificate Object
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{Cloud: newCloud(t, func(o *Options) {
		o.Locations = []string{"local", "remote"}
		o.Limits = Limits{Addresses: 3, Listeners: 2, Rules: 2, Endpoints: 2, Backends: 2, CertificatesEach: 1, SourceRanges: 1}
	})}
	s.address = mustCreate(t, s.Cloud, KindAddress, "address", &Address{Prefixes: []string{defaultPrefix}})
	s.spare = mustCreate(t, s.Cloud, KindAddress, "spare", &Address{Value: "127.71.0.9", Prefixes: []string{defaultPrefix}})
	s.network = mustCreate(t, s.Cloud, KindNetwork, "network", &Network{CIDR: "10.0.0.0/8"})
	s.balancer = mustCreate(t, s.Cloud, KindBalancer, "balancer", &Balancer{Addresses: refs(s.address), Network: ref(s.network)})
	s.listener = mustCreate(t, s.Cloud, KindListener, "listener", s.http(80, ""))
	s.trust = mustCreate(t, s.Cloud, KindTrust, "trust", &Trust{Roots: []lbmodel.Root{newRoot(t, "r1")}})
	s.certificate = mustCreate(t, s.Cloud, KindCertificate, "certificate", &Certificate{Identity: lbmodel.Identity{Name: "id"}})
	s.group = mustCreate(t, s.Cloud, KindEndpointGroup, "group", &EndpointGroup{Group: "apps/a:80", Transport: "TCP"})
	s.pool = mustCreate(t, s.Cloud, KindPool, "pool", &Pool{Group: ref(s.group), Protocol: lbmodel.PoolHTTP1,
		TLS: &PoolTLS{Trust: ref(s.trust), Identity: ref(s.certificate)}})
	s.rule = mustCreate(t, s.Cloud, KindRule, "rule", s.forward(10, "/a"))
	return s
}

func ref(o Object) Ref { return string(o.Handle) }

func refs(all ...Object) []Ref {
	var out []Ref
	for _, o := range all {
		out = append(out, ref(o))
	}
	return out
}

func (s *stage) http(port int32, host string) *Listener {
	return &Listener{Balancer: ref(s.balancer), Port: port, Protocol: lbmodel.ProtocolHTTP, Hostname: host}
}

func (s *stage) forward(number int32, path string) *Rule {
	return &Rule{
		Listener: ref(s.listener), Number: number,
		Match:  lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: path}},
		Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: ref(s.pool), Weight: 1}}}},
	}
}

// with is a body after a change.
func with[B any](body *B, change func(*B)) *B {
	change(body)
	return body
}

func TestCreateIsStrict(t *testing.T) {
	https := func(s *stage) *Listener {
		return with(s.http(443, ""), func(l *Listener) {
			l.Protocol, l.TLS = lbmodel.ProtocolHTTPS, &ListenerTLS{Mode: lbmodel.TLSTerminate, Certificates: refs(s.certificate)}
		})
	}
	tests := []struct {
		name, why string
		kind      string
		body      func(*stage) Body
		want      FaultCode
	}{
		{"number taken", "two rules with one number have no order", KindRule,
			func(s *stage) Body { return s.forward(10, "/b") }, SlotTaken},
		{"too many rules", "a limit is told, not met in silence", KindRule,
			func(s *stage) Body {
				mustCreate(t, s.Cloud, KindRule, "rule2", s.forward(11, "/b"))
				return s.forward(12, "/c")
			}, LimitExceeded},
		{"dangling pool", "nothing may point to nowhere", KindRule,
			func(s *stage) Body {
				return with(s.forward(11, "/b"), func(r *Rule) { r.Action.Forward.Backends[0].Pool = "fake/local/Pool/999" })
			}, ReferenceNotFound},
		{"dangling mirror", "mirrors are references too", KindRule,
			func(s *stage) Body {
				return with(s.forward(11, "/b"), func(r *Rule) { r.Action.Edits.Mirrors = []lbmodel.Mirror{{Pool: "x"}} })
			}, ReferenceNotFound},
		{"wrong kind", "a rule cannot send traffic to a trust", KindRule,
			func(s *stage) Body {
				return with(s.forward(11, "/b"), func(r *Rule) { r.Action.Forward.Backends[0].Pool = ref(s.trust) })
			}, InvalidArgument},
		{"number 0", "numbers begin at 1", KindRule, func(s *stage) Body { return s.forward(0, "/b") }, InvalidArgument},
		{"two actions", "one rule does one thing", KindRule,
			func(s *stage) Body {
				return with(s.forward(11, "/b"), func(r *Rule) { r.Action.Fixed = &lbmodel.Fixed{Status: 500} })
			}, InvalidArgument},
		{"negative weight", "a share is not negative", KindRule,
			func(s *stage) Body {
				return with(s.forward(11, "/b"), func(r *Rule) { r.Action.Forward.Backends[0].Weight = -1 })
			}, InvalidArgument},
		{"too many backends", "a limit is told", KindRule,
			func(s *stage) Body {
				return with(s.forward(11, "/b"), func(r *Rule) {
					b := r.Action.Forward.Backends[0]
					r.Action.Forward.Backends = []lbmodel.Backend{b, b, b}
				})
			}, LimitExceeded},
		{"port and host taken", "a client could reach either", KindListener, func(s *stage) Body { return s.http(80, "") }, SlotTaken},
		{"port speaks another protocol", "a port speaks one", KindListener,
			func(s *stage) Body { return with(https(s), func(l *Listener) { l.Port, l.Hostname = 80, "a.test" }) }, SlotTaken},
		{"port 0", "there is no such port", KindListener, func(s *stage) Body { return s.http(0, "") }, InvalidArgument},
		{"https without certificate", "TLS that nobody can speak", KindListener,
			func(s *stage) Body { return with(https(s), func(l *Listener) { l.TLS.Certificates = nil }) }, InvalidArgument},
		{"too many certificates", "a limit is told", KindListener,
			func(s *stage) Body {
				return with(https(s), func(l *Listener) { l.TLS.Certificates = refs(s.certificate, s.certificate) })
			}, LimitExceeded},
		{"range that is none", "it would filter nobody knows what", KindListener,
			func(s *stage) Body {
				return with(s.http(81, ""), func(l *Listener) { l.SourceRanges = []string{"10.0.0.5/8"} })
			}, InvalidArgument},
		{"too many ranges", "a limit is told", KindListener,
			func(s *stage) Body {
				return with(s.http(81, ""), func(l *Listener) { l.SourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"} })
			}, LimitExceeded},
		{"address of another balancer", "an address leads to one place", KindBalancer,
			func(s *stage) Body { return &Balancer{Addresses: refs(s.address)} }, SlotTaken},
		{"address taken", "an address is given once", KindAddress,
			func(*stage) Body { return &Address{Value: "127.71.0.9", Prefixes: []string{defaultPrefix}} }, SlotTaken},
		{"address outside the pool", "an address that is not ours to give", KindAddress,
			func(*stage) Body { return &Address{Value: "10.0.0.1", Prefixes: []string{defaultPrefix}} }, InvalidArgument},
		{"pool of addresses used up", "no address is given twice", KindAddress,
			func(*stage) Body { return &Address{Prefixes: []string{"127.71.0.9/32"}} }, LimitExceeded},
		{"trust without roots", "it would verify nothing", KindTrust, func(*stage) Body { return &Trust{} }, InvalidArgument},
		{"root with a wrong fingerprint", "the fingerprint is what diffs compare", KindTrust,
			func(*stage) Body {
				return &Trust{Roots: []lbmodel.Root{*with(new(newRoot(t, "r")), func(r *lbmodel.Root) { r.SHA256 = "00" })}}
			}, InvalidArgument},
		{"endpoint without address", "it cannot be reached", KindEndpointGroup,
			func(*stage) Body {
				return &EndpointGroup{Transport: "TCP", Endpoints: []lbmodel.Endpoint{{Port: 80}}}
			}, InvalidArgument},
		{"too many endpoints", "a limit is told", KindEndpointGroup,
			func(*stage) Body {
				e := lbmodel.Endpoint{Address: "10.0.0.1", Port: 80}
				return &EndpointGroup{Transport: "TCP", Endpoints: []lbmodel.Endpoint{e, e, e}}
			}, LimitExceeded},
		{"certificate without key", "it could not be served", KindCertificate,
			func(*stage) Body { return &Certificate{Identity: lbmodel.Identity{Name: "x"}, Leaf: "00"} }, InvalidArgument},
		{"no such kind", "a kind that is not known has no meaning", "Teapot", func(*stage) Body { return &Network{} }, InvalidArgument},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t)
			r := CreateRequest{Kind: tc.kind, Location: "local", Name: "new", Body: encode(tc.body(s))}
			before := len(s.Dump())
			_, err := s.Create(t.Context(), r)
			wantFault(t, err, tc.want, tc.why)
			if len(s.Dump()) != before {
				t.Error("a refused call has left something behind")
			}
		})
	}
}

func wantFault(t testing.TB, err error, want FaultCode, why string) {
	t.Helper()
	var call *CallError
	if !errors.As(err, &call) || call.Code != want {
		t.Errorf("got %v, want %s: %s", err, want, why)
	}
}

func TestCreateRefusesRequests(t *testing.T) {
	good := CreateRequest{Kind: KindNetwork, Location: "local", Name: "new", Body: jsontext.Value(`{"cidr":"10.0.0.0/8"}`)}
	tests := []struct {
		name, why string
		change    func(*CreateRequest)
		want      FaultCode
		says      string
	}{
		{"unknown field", "a misspelt field would be dropped in silence", func(r *CreateRequest) { r.Body = jsontext.Value(`{"cdir":"10.0.0.0/8"}`) }, InvalidArgument, "cdir"},
		{"not JSON", "the text is not a body", func(r *CreateRequest) { r.Body = jsontext.Value(`{`) }, InvalidArgument, "body of a Network"},
		{"unknown location", "there is nothing there", func(r *CreateRequest) { r.Location = "moon" }, UnknownLocation, "local, remote"},
		{"no location", "everything is somewhere", func(r *CreateRequest) { r.Location = "" }, UnknownLocation, ""},
		{"illegal name", "names are DNS labels", func(r *CreateRequest) { r.Name = "A_b" }, InvalidArgument, "DNS label"},
		{"name too long", "names are DNS labels", func(r *CreateRequest) { r.Name = strings.Repeat("a", 64) }, InvalidArgument, "63"},
		{"name taken", "names are unique", func(r *CreateRequest) { r.Name = "network" }, AlreadyExists, "fake/local/Network/"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, r := newStage(t), good
			tc.change(&r)
			_, err := s.Create(t.Context(), r)
			wantFault(t, err, tc.want, tc.why)
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q does not say %q", err, tc.says)
			}
		})
	}
}

func TestReferencesStayInTheirLocation(t *testing.T) {
	s := newStage(t)
	_, err := s.Create(t.Context(), CreateRequest{Kind: KindBalancer, Location: "remote", Name: "b", Body: encode(&Balancer{Addresses: refs(s.spare)})})
	wantFault(t, err, InvalidArgument, "a balancer cannot have an address of another location")
}

func TestUpdateIsStrict(t *testing.T) {
	tests := []struct {
		name, why string
		of        func(*stage) Object
		body      func(*stage) Body
		version   int
		want      FaultCode
	}{
		{"protocol of a listener", "clients would be cut off", func(s *stage) Object { return s.listener },
			func(s *stage) Body {
				return with(s.http(80, ""), func(l *Listener) { l.Protocol = lbmodel.ProtocolTCP })
			}, 0, Immutable},
		{"match of a rule", "it would be another rule", func(s *stage) Object { return s.rule }, func(s *stage) Body { return s.forward(10, "/b") }, 0, Immutable},
		{"protocol of a pool", "as of a target group", func(s *stage) Object { return s.pool },
			func(s *stage) Body { return &Pool{Group: ref(s.group), Protocol: lbmodel.PoolGRPC} }, 0, Immutable},
		{"an address", "it is given once", func(s *stage) Object { return s.spare },
			func(*stage) Body { return &Address{Value: "127.71.0.10", Prefixes: []string{defaultPrefix}} }, 0, Immutable},
		{"transport of a group", "as of a network endpoint group", func(s *stage) Object { return s.group },
			func(*stage) Body { return &EndpointGroup{Group: "apps/a:80", Transport: "UDP"} }, 0, Immutable},
		{"an old version", "somebody else's change would be lost", func(s *stage) Object { return s.network },
			func(*stage) Body { return &Network{CIDR: "10.0.0.0/8", IdleSeconds: 5} }, 7, VersionMismatch},
		{"a leaf without its key", "the cloud could not serve it", func(s *stage) Object { return s.certificate },
			func(*stage) Body { return &Certificate{Identity: lbmodel.Identity{Name: "id"}, Leaf: "00"} }, 0, InvalidArgument},
		{"gone", "there is nothing to change", func(*stage) Object { return Object{Handle: "fake/local/Rule/999"} }, func(s *stage) Body { return s.forward(1, "/") }, 0, NotFound},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t)
			_, err := s.Update(t.Context(), UpdateRequest{Handle: tc.of(s).Handle, Body: encode(tc.body(s)), Version: tc.version})
			wantFault(t, err, tc.want, tc.why)
		})
	}
}

func TestDeleteRefusesWhatIsInUse(t *testing.T) {
	s := newStage(t)
	for _, o := range []Object{s.address, s.network, s.balancer, s.listener, s.pool, s.group, s.trust, s.certificate} {
		wantFault(t, s.Delete(t.Context(), o.Handle), InUse, o.Kind+" is used")
	}
	for _, o := range []Object{s.rule, s.pool, s.group, s.trust, s.certificate, s.listener, s.balancer, s.network, s.address, s.spare} {
		if err := s.Delete(t.Context(), o.Handle); err != nil {
			t.Errorf("%s, no longer used: %v", o.Kind, err)
		}
	}
	if left := s.Dump(); len(left) != 0 {
		t.Errorf("%d objects are left", len(left))
	}
	wantFault(t, s.Delete(t.Context(), s.rule.Handle), NotFound, "it is gone")
}

func TestKeysMustFit(t *testing.T) {
	c := newCloud(t, nil)
	one, other := issue(t, lbmodel.Identity{Name: "a"}), issue(t, lbmodel.Identity{Name: "a"})
	body := encode(&Certificate{Identity: lbmodel.Identity{Name: "a"}, Leaf: fingerprint(one.Certificate[0])})
	r := CreateRequest{Kind: KindCertificate, Location: "local", Name: "c", Body: body, Key: &other}
	_, err := c.Create(t.Context(), r)
	wantFault(t, err, KeyMismatch, "another certificate than the body says")
	mixed := one
	mixed.PrivateKey = other.PrivateKey
	r.Key = &mixed
	_, err = c.Create(t.Context(), r)
	wantFault(t, err, InvalidArgument, "a key of another certificate")
	r.Kind, r.Body = KindNetwork, encode(&Network{})
	_, err = c.Create(t.Context(), r)
	wantFault(t, err, InvalidArgument, "a key for something that has none")
}
