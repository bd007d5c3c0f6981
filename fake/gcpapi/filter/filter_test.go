package filter

import "testing"

// Filters as Google's documentation has them.
func TestFilter(t *testing.T) {
	o := map[string]any{
		"name": "shop", "labels": map[string]any{"app": "web", "gatehouse.dev/owner": "x"}, "port": 8080.0, "on": true, "ids": []any{"a", "b"},
		"list": []any{map[string]any{"zone": "z1"}, map[string]any{"zone": "z2"}}, "time": "2026-12-01T09:00:00Z",
	}
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{``, true}, {`name=shop`, true}, {`name="shop"`, true}, {`name = 'shop'`, true}, {`name!=shop`, false}, {`none!=shop`, true},
		{`port=8080`, true}, {`port>80`, true}, {`port<=8080`, true}, {`port<900`, false}, {`on=true`, true}, {`ids=b`, true}, {`ids:c`, false},
		{`list.zone=z2`, true}, {`labels.app=web`, true}, {`labels.gatehouse.dev/owner=x`, true}, {`labels."gatehouse.dev/owner"=x`, true},
		{`labels.app:*`, true}, {`labels.none:*`, false}, {`labels:*`, true},
		{`name=sh*`, true}, {`name=*op`, true}, {`name=s*x`, false}, {`name eq s.*`, true}, {`name eq s`, false}, {`name ne s.*`, false}, {`name ~ s.*`, true},
		{`name=shop AND port=80`, false}, {`name=shop OR port=80`, true}, {`NOT name=shop`, false}, {`-name=shop`, false},
		{`(name=a OR name=shop) AND port=8080`, true}, {`name=shop port=8080`, true}, {`name=a AND name=b OR port=8080`, false},
		{`time>"2026-11-01T00:00:00Z"`, true}, {`(name eq shop)(port = 8080)`, true},
	} {
		t.Run(c.filter, func(t *testing.T) {
			f, err := Parse(c.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got := f(o); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
	for _, bad := range []string{`name`, `name=`, `(name=a`, `name=a)`, `name eq (`, `name = = a b`, `NOT`, `-`, `()`} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
