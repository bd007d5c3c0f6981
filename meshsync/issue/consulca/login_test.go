package consulca

import (
	"context"
	"strings"
	"testing"

	"gatehouse.dev/fake/mesh/consul"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// loginWorld is a Consul that lets ServiceAccounts of the cluster in.
func loginWorld(t *testing.T, lag int) (*world, *tokens.Store) {
	t.Helper()
	store := tokens.NewStore(nil)
	w := worldOf(t, consul.Config{Auth: &consul.Auth{Method: "consul-k8s-auth-method", Tokens: store.Check, Lag: lag}})
	w.config.Token = nil
	w.config.Login = &Login{Method: "consul-k8s-auth-method", Bearer: func(_ context.Context, a meshsync.Account) (string, error) {
		return store.Mint(tokens.Account(a), ""), nil
	}}
	return w, store
}

// TestLogin: an account gets a token for one certificate, and gives it back. Why this
// table: servers learn of a new token one after the other.
func TestLogin(t *testing.T) {
	for _, tc := range []struct {
		name string
		lag  int
		want lbmodel.Code
	}{
		{"at once", 0, lbmodel.CodeOK},
		{"a little later", 2, lbmodel.CodeOK},
		{"never", 1000, lbmodel.CodeDenied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, _ := loginWorld(t, tc.lag)
			pair, err := w.get()
			if lbmodel.CodeOf(err) != tc.want || (err == nil) != (pair.PrivateKey != nil) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if n := w.consul.Logins(); n != 0 {
				t.Errorf("%d tokens were not given back", n)
			}
		})
	}
}

// TestLoginRefused says what Consul must be told. Why this table: none of it is seen in
// the cluster.
func TestLoginRefused(t *testing.T) {
	const shown = "a-bearer-token"
	for _, tc := range []struct {
		name, says string
		change     func(*world)
		want       lbmodel.Code
	}{
		{"another method", "it must be of type kubernetes", func(w *world) { w.config.Login.Method = "jwt" }, lbmodel.CodeInvalid},
		{"a token of another cluster", "lets ServiceAccount gatehouse-system/gatehouse not in", func(w *world) {
			w.config.Login.Bearer = func(context.Context, meshsync.Account) (string, error) { return shown, nil }
		}, lbmodel.CodeDenied},
		{"no token to show", "no such account", func(w *world) {
			w.config.Login.Bearer = func(context.Context, meshsync.Account) (string, error) {
				return "", lbmodel.Errorf(lbmodel.CodeUnavailable, "CreateToken", lbmodel.ID{}, "no such account")
			}
		}, lbmodel.CodeUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, _ := loginWorld(t, 0)
			tc.change(w)
			_, err := w.get()
			if lbmodel.CodeOf(err) != tc.want || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), shown) {
				t.Errorf("got %v, want %s with %q", err, tc.want, tc.says)
			}
			if n := len(w.consul.Calls()); n != 0 {
				t.Errorf("%d certificates were asked for", n)
			}
		})
	}
}

// TestLoginOfAnother: an account cannot have the name of another service signed.
func TestLoginOfAnother(t *testing.T) {
	w, store := loginWorld(t, 0)
	w.config.Login.Bearer = func(context.Context, meshsync.Account) (string, error) {
		return store.Mint(tokens.Account{Namespace: "gatehouse-system", Name: "other"}, ""), nil
	}
	if _, err := w.get(); lbmodel.CodeOf(err) != lbmodel.CodeDenied || !strings.Contains(err.Error(), "service:write") {
		t.Errorf("got %v", err)
	}
}
