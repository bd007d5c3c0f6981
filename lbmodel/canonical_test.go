package lbmodel

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// modelFields calls visit for every exported field of every struct of this
// package that t can reach. Interfaces end the walk.
func modelFields(t reflect.Type, seen map[reflect.Type]bool, visit func(reflect.Type, reflect.StructField)) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		modelFields(t.Elem(), seen, visit)
	case reflect.Map:
		modelFields(t.Key(), seen, visit)
		modelFields(t.Elem(), seen, visit)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return
		}
		for f := range t.Fields() {
			visit(t, f)
			modelFields(f.Type, seen, visit)
		}
	}
}

// setFields notes every field that is not zero somewhere in v.
func setFields(v reflect.Value, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			setFields(v.Elem(), set)
		}
	case reflect.Slice:
		for i := range v.Len() {
			setFields(v.Index(i), set)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for f, value := range v.Fields() {
			if !value.IsZero() {
				set[v.Type().Name()+"."+f.Name] = true
			}
			setFields(value, set)
		}
	}
}

func TestRandomGatewaysSetEveryField(t *testing.T) {
	set := map[string]bool{}
	m := newGatewayMaker(t)
	for seed := range uint64(200) {
		g := m.gateway(seed)
		setFields(reflect.ValueOf(g), set)
		if err := Validate(g); err != nil {
			t.Fatalf("seed %d is not valid: %v", seed, err)
		}
	}
	modelFields(reflect.TypeFor[Gateway](), map[reflect.Type]bool{}, func(owner reflect.Type, f reflect.StructField) {
		if name := owner.Name() + "." + f.Name; !set[name] {
			t.Errorf("no random gateway sets %s, so no property test covers it", name)
		}
	})
}

func TestEncodeJSONRoundTrips(t *testing.T) {
	m := newGatewayMaker(t)
	for seed := range uint64(300) {
		g := m.gateway(seed)
		text, err := EncodeJSON(g)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		g.Settings = back.Settings // its bytes are compared below
		if !reflect.DeepEqual(g, back) {
			t.Fatalf("seed %d: decoding gives another gateway (-want +got):\n%s", seed, cmp.Diff(g, back))
		}
		again, err := EncodeJSON(back)
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("seed %d: encoding again differs: %v\n%s\n%s", seed, err, text, again)
		}
	}
}

func TestEncodeJSONKeepsWhatEmptyMeans(t *testing.T) {
	const why = "what is there but empty is not what is absent"
	for _, c := range []struct {
		name string
		g    Gateway
		is   func(Gateway) bool
	}{
		{"endpoints unknown", Gateway{Pools: []Pool{{}}}, func(g Gateway) bool { return g.Pools[0].Endpoints == nil }},
		{"no endpoints", Gateway{Pools: []Pool{{Endpoints: []Endpoint{}}}}, func(g Gateway) bool { return g.Pools[0].Endpoints != nil }},
		{"forward to nothing", Gateway{Listeners: []Listener{{Forward: &Forward{}}}}, func(g Gateway) bool { return g.Listeners[0].Forward != nil }},
		{"any gRPC call", Gateway{Listeners: []Listener{{Rules: []Rule{{Match: Match{GRPC: &GRPCMatch{}}}}}}}, func(g Gateway) bool { return g.Listeners[0].Rules[0].Match.GRPC != nil }},
		{"CORS that allows nobody", Gateway{Listeners: []Listener{{Rules: []Rule{{Action: Action{CORS: &CORS{}}}}}}}, func(g Gateway) bool { return g.Listeners[0].Rules[0].Action.CORS != nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := EncodeJSON(c.g)
			if err != nil {
				t.Fatal(err)
			}
			back, err := DecodeJSON(text)
			if err != nil || !c.is(back) {
				t.Errorf("lost in %s: %s (%v)", text, why, err)
			}
		})
	}
}

func TestCanonicalIgnoresOrder(t *testing.T) {
	m := newGatewayMaker(t)
	for seed := range uint64(100) {
		g := m.gateway(seed)
		want, err := EncodeJSON(g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := EncodeJSON(shuffledGateway(g, seed))
		if err != nil || !bytes.Equal(want, got) {
			t.Fatalf("seed %d: another order encodes differently: %v\n%s", seed, err, cmp.Diff(string(want), string(got)))
		}
	}
}

// shuffledGateway is g with every list whose order means nothing shuffled, other
// time zones and other spacing in the settings.
func shuffledGateway(g Gateway, seed uint64) Gateway {
	r := rand.New(rand.NewPCG(seed, 3))
	g.Listeners, g.Identities, g.Later = shuffled(r, g.Listeners), shuffled(r, g.Identities), shuffled(r, g.Later)
	g.Pools, g.Trust = shuffled(r, g.Pools), shuffled(r, g.Trust)
	for i := range g.Pools {
		g.Pools[i].Endpoints = shuffled(r, g.Pools[i].Endpoints)
	}
	for i := range g.Trust {
		g.Trust[i].Roots = shuffled(r, append(g.Trust[i].Roots, g.Trust[i].Roots...))
		g.Trust[i].Seen = shuffled(r, append(g.Trust[i].Seen, g.Trust[i].Seen...))
	}
	for i := range g.Identities {
		renew := &g.Identities[i].Renew
		renew.Authorities = shuffled(r, append(renew.Authorities, renew.Authorities...))
	}
	for i := range g.Later {
		g.Later[i].Until = g.Later[i].Until.In(time.FixedZone("x", 3600))
	}
	g.Settings = json.RawMessage(`{ "a": {"y": "\u00e9", "z": [1.50, 2]}, "b": 1 }`)
	return g
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func TestDecodeJSONIsStrict(t *testing.T) {
	const why = "a misspelt member is a wish that would be lost"
	for _, c := range []struct{ name, text string }{
		{"unknown member", `{"owner":{},"listener":[]}`},
		{"unknown member deep down", `{"owner":{},"pools":[{"tls":{"trusts":"a"}}]}`},
		{"another case", `{"Owner":{}}`},
		{"twice", `{"owner":{},"owner":{}}`},
		{"two values", `{"owner":{}}{}`},
		{"not an object", `[]`},
		{"nothing", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			if g, err := DecodeJSON([]byte(c.text)); err == nil {
				t.Errorf("decoded to %+v: %s", g, why)
			}
		})
	}
}

func TestNoTypeCanHoldAKey(t *testing.T) {
	const why = "keys pass from a Keyring to Apply and nowhere else"
	allowed := []reflect.Type{reflect.TypeFor[json.RawMessage](), reflect.TypeFor[Digest]()}
	for _, root := range []reflect.Type{
		reflect.TypeFor[Gateway](), reflect.TypeFor[Plan](), reflect.TypeFor[Outcome](), reflect.TypeFor[Graph](),
		reflect.TypeFor[Features](), reflect.TypeFor[Finding](), reflect.TypeFor[Request](), reflect.TypeFor[Answer](),
	} {
		modelFields(root, map[reflect.Type]bool{}, func(owner reflect.Type, f reflect.StructField) {
			bytesLike := (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Array) && f.Type.Elem().Kind() == reflect.Uint8
			if bytesLike && !slices.Contains(allowed, f.Type) {
				t.Errorf("%s.%s is bytes, which could be a key: %s", owner, f.Name, why)
			}
			if strings.HasPrefix(f.Type.PkgPath(), "crypto") || f.Type.Kind() == reflect.Func || f.Type == reflect.TypeFor[any]() {
				t.Errorf("%s.%s is %s: %s", owner, f.Name, f.Type, why)
			}
		})
	}
}

func TestEncodeJSONRefusesPrivateKeys(t *testing.T) {
	const why = "a key that is in the description by mistake must not reach a file, a plan or a cloud's label"
	key := func(kind string) string { return "-----BEGIN " + kind + "-----\nAAAA\n-----END " + kind + "-----\n" }
	for _, c := range []struct {
		name string
		g    Gateway
		bad  bool
	}{
		{"PKCS #8 in a root", Gateway{Trust: []Trust{{Roots: []Root{{PEM: key("PRIVATE KEY")}}}}}, true},
		{"encrypted, in a label", Gateway{Labels: map[string]string{"a": key("ENCRYPTED PRIVATE KEY")}}, true},
		{"as a label's name", Gateway{Labels: map[string]string{key("EC PRIVATE KEY"): ""}}, true},
		{"behind a certificate", Gateway{Trust: []Trust{{Roots: []Root{{PEM: key("CERTIFICATE") + key("RSA PRIVATE KEY")}}}}}, true},
		{"escaped in the settings", Gateway{Settings: json.RawMessage(`{"a":["-----BEGIN\u0020OPENSSH\u0020PRIVATE KEY-----"]}`)}, true},
		{"certificate", Gateway{Trust: []Trust{{Roots: []Root{{PEM: key("CERTIFICATE")}}}}}, false},
		{"the words", Gateway{Annotations: maps.Clone(map[string]string{"a": "needs a PRIVATE KEY"})}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := EncodeJSON(c.g)
			if (err != nil) != c.bad {
				t.Errorf("error = %v, want one: %v: %s", err, c.bad, why)
			}
			if err != nil && (out != nil || strings.Contains(err.Error(), "AAAA")) {
				t.Errorf("the refusal gives the key away: %s %v", out, err)
			}
		})
	}
}

func FuzzDecodeJSON(f *testing.F) {
	m := newGatewayMaker(f)
	for seed := range uint64(5) {
		text, err := EncodeJSON(m.gateway(seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := DecodeJSON(text)
		if err != nil {
			return
		}
		_ = Validate(g) // only that it returns
		once, err := EncodeJSON(g)
		if err != nil {
			return
		}
		back, err := DecodeJSON(once)
		if err != nil {
			t.Fatalf("own output is refused: %v\n%s", err, once)
		}
		if twice, err := EncodeJSON(back); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("encoding is not stable: %v\n%s\n%s", err, once, twice)
		}
	})
}
