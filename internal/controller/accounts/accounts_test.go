package accounts

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

const own = "gatehouse-system"

// shop is a member.
func shop() Member {
	return Member{Account: "gatehouse-1", Gateway: "shop/edge", Controller: "gatehouse.dev/fake"}
}

// server stores objects; faults come by verb and resource.
func server(objects ...runtime.Object) *fake.Clientset { return fake.NewClientset(objects...) }

func names(t *testing.T, c *fake.Clientset) map[string]bool {
	t.Helper()
	list, err := c.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, s := range list.Items {
		out[s.Name] = true
	}
	return out
}

// TestEnsure makes an account once, in our own namespace only, that no pod gets a
// token of.
func TestEnsure(t *testing.T) {
	c := server()
	a := New(c, "prod", own)
	for range 3 {
		if err := a.Ensure(t.Context(), shop()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.CoreV1().ServiceAccounts(own).Get(t.Context(), "gatehouse-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.AutomountServiceAccountToken == nil || *got.AutomountServiceAccountToken || got.Annotations[gateway] != "shop/edge" {
		t.Errorf("made is %+v", got)
	}
	if n := len(c.Actions()); n != 2 {
		t.Errorf("%d calls, want 1 to make it and the one of this test", n)
	}
	// Another process finds it.
	if err := New(c, "prod", own).Ensure(t.Context(), shop()); err != nil {
		t.Error(err)
	}
}

// TestEnsureTaken: what somebody else has by the name is not used. Why this table:
// whoever made it may hold its tokens.
func TestEnsureTaken(t *testing.T) {
	made := func(change func(*corev1.ServiceAccount)) *corev1.ServiceAccount {
		s := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "gatehouse-1",
			Labels:      map[string]string{managedBy: manager},
			Annotations: map[string]string{cluster: "prod", gateway: "shop/edge", controller: "gatehouse.dev/fake"}}}
		change(s)
		return s
	}
	tests := []struct {
		name  string
		there *corev1.ServiceAccount
		works bool
	}{
		{"ours", made(func(*corev1.ServiceAccount) {}), true},
		{"of nobody", made(func(s *corev1.ServiceAccount) { s.Labels, s.Annotations = nil, nil }), false},
		{"of another cluster", made(func(s *corev1.ServiceAccount) { s.Annotations[cluster] = "test" }), false},
		{"of another gateway", made(func(s *corev1.ServiceAccount) { s.Annotations[gateway] = "shop/other" }), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := New(server(tt.there), "prod", own).Ensure(t.Context(), shop())
			if (err == nil) != tt.works || err != nil && !apierrors.IsConflict(err) {
				t.Errorf("error %v, want that it works: %v", err, tt.works)
			}
		})
	}
}

// TestPrune removes accounts of those that left, and never one that is not ours.
func TestPrune(t *testing.T) {
	c := server(
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "default"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "labelled", Labels: map[string]string{managedBy: manager}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "elsewhere", Labels: map[string]string{managedBy: manager},
			Annotations: map[string]string{cluster: "prod", gateway: "shop/edge", controller: "gatehouse.dev/fake"}}},
	)
	a, test := New(c, "prod", own), New(c, "test", own)
	for account, of := range map[string]*Accounts{"stays": a, "left": a, "theirs": a, "of-another-cluster": test} {
		m := shop()
		m.Account = account
		if account == "theirs" {
			m.Controller = "gatehouse.dev/aws"
		}
		if err := of.Ensure(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	ours := func(controller string) bool { return controller == "gatehouse.dev/fake" }
	stays := func(account string) bool { return account == "stays" }
	if err := a.Prune(t.Context(), stays, ours); err != nil {
		t.Fatal(err)
	}
	got := names(t, c)
	if got["left"] || len(got) != 6 {
		t.Errorf("there are %v, want all but left", got)
	}
	m := shop()
	m.Account = "left"
	if err := a.Ensure(t.Context(), m); err != nil || !names(t, c)["left"] {
		t.Errorf("one that comes again: %v, %v", names(t, c), err)
	}
}

// TestPruneAsksLast: a gateway that becomes a member again while accounts are removed has
// one in the end, whoever is first: its account was not wanted when it was listed.
func TestPruneAsksLast(t *testing.T) {
	ours := func(string) bool { return true }
	for _, when := range []string{"list", "delete"} {
		t.Run(when, func(t *testing.T) {
			c := server()
			a := New(c, "prod", own)
			if err := a.Ensure(t.Context(), shop()); err != nil {
				t.Fatal(err)
			}
			var member atomic.Bool
			ensured := make(chan error, 1)
			c.PrependReactor(when, "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
				if member.CompareAndSwap(false, true) {
					go func() { ensured <- a.Ensure(t.Context(), shop()) }()
				}
				return false, nil, nil
			})
			if err := a.Prune(t.Context(), func(string) bool { return member.Load() }, ours); err != nil {
				t.Fatal(err)
			}
			if err := <-ensured; err != nil {
				t.Fatal(err)
			}
			if !names(t, c)["gatehouse-1"] {
				t.Error("a member has no account")
			}
		})
	}
}

// TestTokenForTheServer: who asks the API server whose a token is gets one that the API
// server takes, and so one without an audience of its own.
func TestTokenForTheServer(t *testing.T) {
	c := server()
	var asked *authv1.TokenRequest
	c.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		asked = action.(clienttesting.CreateAction).GetObject().(*authv1.TokenRequest)
		return true, &authv1.TokenRequest{Status: authv1.TokenRequestStatus{Token: "secret"}}, nil
	})
	if _, err := New(c, "prod", own).Token(t.Context(), "", meshsync.Account{Namespace: own, Name: "gatehouse-1"}); err != nil || asked == nil || len(asked.Spec.Audiences) != 0 {
		t.Errorf("error %v, asked for %+v", err, asked)
	}
}

// TestToken asks for a short life and one audience, and says what an error means.
func TestToken(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want lbmodel.Code
	}{
		{"it is minted", nil, lbmodel.CodeOK},
		{"the account is gone", apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "gatehouse-1"), lbmodel.CodeUnavailable},
		{"we may not", apierrors.NewForbidden(corev1.Resource("serviceaccounts"), "gatehouse-1", nil), lbmodel.CodeDenied},
		{"the server is busy", apierrors.NewTooManyRequestsError("later"), lbmodel.CodeUnavailable},
		{"our mistake", apierrors.NewBadRequest("no"), lbmodel.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := server()
			a := New(c, "prod", own)
			if err := a.Ensure(t.Context(), shop()); err != nil {
				t.Fatal(err)
			}
			var asked *authv1.TokenRequest
			c.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetSubresource() != "token" || action.GetNamespace() != own {
					return false, nil, nil
				}
				asked = action.(clienttesting.CreateAction).GetObject().(*authv1.TokenRequest)
				return true, &authv1.TokenRequest{Status: authv1.TokenRequestStatus{Token: "secret"}}, tt.err
			})
			token, err := a.Token(context.Background(), "istio-ca", meshsync.Account{Namespace: own, Name: "gatehouse-1"})
			if lbmodel.CodeOf(err) != tt.want || (err == nil) != (token == "secret") {
				t.Errorf("token %q, error %v, want %s", token, err, tt.want)
			}
			if asked == nil || len(asked.Spec.Audiences) != 1 || asked.Spec.Audiences[0] != "istio-ca" || *asked.Spec.ExpirationSeconds > 600 {
				t.Errorf("asked for %+v", asked)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Error("an error has the token in it")
			}
			if apierrors.IsNotFound(tt.err) {
				c.ReactionChain = c.ReactionChain[1:]
				if _, err := c.CoreV1().ServiceAccounts(own).Get(t.Context(), "gatehouse-1", metav1.GetOptions{}); err != nil {
					t.Fatal(err)
				}
				before := len(c.Actions())
				if err := a.Ensure(t.Context(), shop()); err != nil || len(c.Actions()) == before {
					t.Errorf("an account that was gone is not looked for again: %v", err)
				}
			}
		})
	}
}
