package elb

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/snapshot"
	"gatehouse.dev/fake/awsapi/wire"
)

// Every request that the SDK can write is read: each member of each action has a
// field that takes it, of the right type. Reading is strict, so a member without a
// field would be refused.
func TestEveryRequestIsRead(t *testing.T) {
	actions := New(Config{}).Actions()
	for name, message := range snapshot.Load(t, "elasticloadbalancingv2", "request") {
		action, ok := actions[name]
		if !ok {
			t.Errorf("%s is not offered", name)
			continue
		}
		form, err := url.ParseQuery(string(message.Body))
		if err != nil {
			t.Fatal(err)
		}
		if err := Protocol().Decode(&wire.Request{Form: form}, action.Input()); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// results are the results of the actions that have one.
func results() map[string]any {
	lb, ls, rs, tg, ts := loadBalancersOut{}, listenersOut{}, rulesOut{}, targetGroupsOut{}, trustStoresOut{}
	return map[string]any{
		"CreateLoadBalancer": lb, "DescribeLoadBalancers": lb, "CreateListener": ls, "DescribeListeners": ls, "ModifyListener": ls,
		"CreateRule": rs, "DescribeRules": rs, "ModifyRule": rs, "SetRulePriorities": rs,
		"CreateTargetGroup": tg, "DescribeTargetGroups": tg, "ModifyTargetGroup": tg,
		"CreateTrustStore": ts, "DescribeTrustStores": ts, "ModifyTrustStore": ts,
		"DescribeTargetHealth": targetHealthOut{}, "AddListenerCertificates": certificatesOut{}, "DescribeListenerCertificates": certificatesOut{},
		"DescribeLoadBalancerAttributes": attributesOut{}, "ModifyLoadBalancerAttributes": attributesOut{}, "DescribeListenerAttributes": attributesOut{},
		"ModifyListenerAttributes": attributesOut{}, "DescribeTargetGroupAttributes": attributesOut{}, "ModifyTargetGroupAttributes": attributesOut{},
		"DescribeTags": tagsOut{}, "DescribeAccountLimits": limitsOut{}, "DescribeSSLPolicies": sslPoliciesOut{},
		"AddTrustStoreRevocations": revocationsOut{}, "DescribeTrustStoreRevocations": revocationsOut{}, "DescribeTrustStoreAssociations": associationsOut{},
		"GetTrustStoreCaCertificatesBundle": locationOut{}, "GetTrustStoreRevocationContent": locationOut{}, "GetResourcePolicy": policyOut{},
		"SetIpAddressType": ipTypeOut{}, "ModifyIpPools": ipPoolsOut{}, "SetSubnets": subnetsOut{}, "SetSecurityGroups": securityGroupsOut{},
		"DescribeCapacityReservation": capacityOut{}, "ModifyCapacityReservation": capacityOut{},
	}
}

// What the SDK reads from a response, our shapes hold, and write again with the same
// structure: nothing is missing, nothing is called otherwise.
func TestEveryResponseIsWritten(t *testing.T) {
	shapes := results()
	for name, message := range snapshot.Load(t, "elasticloadbalancingv2", "response") {
		want := parseXML(t, message.Body)
		shape, ok := shapes[name]
		if !ok {
			shape = nothing{}
		}
		value := reflect.New(reflect.TypeOf(shape))
		fill(t, name, want.kids[0], value.Elem())
		w := httptest.NewRecorder()
		Protocol().Reply(w, &wire.Request{Form: url.Values{"Action": {name}}}, "id", value.Interface())
		got := parseXML(t, w.Body.Bytes())
		got.kids = slices.DeleteFunc(got.kids, func(e *element) bool { return e.name == "ResponseMetadata" })
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s (-SDK +ours):\n%s", name, diff)
		}
	}
}

// Every error of the SDK's catalogue comes with the status and in the form that the
// SDK expects.
func TestEveryErrorIsWritten(t *testing.T) {
	for name, message := range snapshot.Load(t, "elasticloadbalancingv2", "error") {
		want := parseXML(t, message.Body)
		code := want.find("Code").text
		w := httptest.NewRecorder()
		Protocol().Refuse(w, nil, "id", refuse(code, "__Message__"))
		got := parseXML(t, w.Body.Bytes())
		got.kids = slices.DeleteFunc(got.kids, func(e *element) bool { return e.name == "RequestId" })
		got.kids[0].kids = slices.DeleteFunc(got.kids[0].kids, func(e *element) bool { return e.name == "Type" })
		if diff := cmp.Diff(want.String(), got.String()); diff != "" || w.Code != message.Status {
			t.Errorf("%s: status %d, want %d (-SDK +ours):\n%s", name, w.Code, message.Status, diff)
		}
	}
}

// Malformed requests are refused, whatever is wrong with them.
func TestMalformed(t *testing.T) {
	action := New(Config{}).Actions()["CreateRule"]
	for _, c := range []struct{ name, query, why string }{
		{"unknown", "Prioritty=1", "a misspelt parameter must not be without effect"},
		{"number", "Priority=one", "not a number"},
		{"list", "Actions.1.Type=forward", "lists have a member step"},
		{"index", "Actions.member.x.Type=forward", "list items are numbered"},
		{"scalar", "Priority.member.1=1", "a number has no parts"},
		{"structure", "Actions.member.1=forward", "a structure is not a value"},
		{"twice", "Priority=1&Priority=2", "which one is meant?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			form, _ := url.ParseQuery(c.query)
			var malformed *wire.Malformed
			if err := Protocol().Decode(&wire.Request{Form: form}, action.Input()); !errors.As(err, &malformed) {
				t.Errorf("%s is read (%v): %s", c.query, err, c.why)
			}
		})
	}
}

// Every action has a bucket of the documented classes, and reads and writes are told apart.
func TestBuckets(t *testing.T) {
	sizes := Buckets()
	for name, action := range New(Config{}).Actions() {
		if _, ok := sizes[action.Bucket]; !ok {
			t.Errorf("%s: there is no bucket %q", name, action.Bucket)
		}
		reads := strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "Get")
		if action.Writes == reads {
			t.Errorf("%s: writes=%v", name, action.Writes)
		}
	}
	meter := account.NewMeter(sizes)
	start := time.Unix(0, 0)
	taken := 0
	for meter.Take(start, BucketAccount, BucketMutate) {
		taken++
	}
	if taken != 20 || !meter.Take(start.Add(time.Second/3+time.Millisecond), BucketMutate) || meter.Take(start.Add(time.Second/3+time.Millisecond), BucketMutate) {
		t.Errorf("%d calls at once, want 20, and one more after a third of a second", taken)
	}
}

type element struct {
	name, text string
	kids       []*element
}

// String writes an element with its parts in the order of their names: order has no
// meaning in this protocol, but between equal names.
func (e *element) String() string {
	kids := slices.Clone(e.kids)
	slices.SortStableFunc(kids, func(a, b *element) int { return strings.Compare(a.name, b.name) })
	var out strings.Builder
	out.WriteString("<" + e.name + ">" + e.text)
	for _, k := range kids {
		out.WriteString("\n" + k.String())
	}
	return out.String() + "</>"
}

func (e *element) find(name string) *element {
	if e.name == name {
		return e
	}
	for _, k := range e.kids {
		if found := k.find(name); found != nil {
			return found
		}
	}
	return nil
}

func parseXML(t *testing.T, text []byte) *element {
	t.Helper()
	top := &element{}
	open := []*element{top}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return top.kids[0]
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		in := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			kid := &element{name: token.Name.Local}
			in.kids = append(in.kids, kid)
			open = append(open, kid)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			in.text += strings.TrimSpace(string(token))
		}
	}
}

// fill reads an element into a shape; what has no field fails the test.
func fill(t *testing.T, path string, from *element, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, path, from, v.Elem())
	case reflect.Slice:
		for _, kid := range from.kids {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(t, path, kid, item)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{from.find("key").text: from.find("value").text}))
	case reflect.String:
		v.SetString(from.text)
	case reflect.Bool:
		v.SetBool(from.text == "true")
	case reflect.Int:
		n, _ := strconv.Atoi(from.text)
		v.SetInt(int64(n))
	case reflect.Float64:
		n, _ := strconv.ParseFloat(from.text, 64)
		v.SetFloat(n)
	default:
		if v.Type() == reflect.TypeFor[time.Time]() {
			at, _ := time.Parse(time.RFC3339, from.text)
			from.text = at.Format(wire.TimeLayout) // the SDK's fixtures leave out fractions, AWS does not
			v.Set(reflect.ValueOf(at))
			return
		}
		for _, kid := range from.kids {
			f := v.FieldByName(kid.name)
			if !f.IsValid() {
				t.Errorf("%s.%s has no field", path, kid.name)
				continue
			}
			fill(t, path+"."+kid.name, kid, f)
		}
	}
}
