package consulca

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/consul/proto-public/pbacl"
	"google.golang.org/grpc"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue/rpc"
)

// Login says how an account gets a token of its own: by an auth method of Consul, to
// whom it shows what Kubernetes says of it.
type Login struct {
	Method string
	// Bearer mints the account's token for the API server, whom the method asks about
	// it. Its errors have a code.
	Bearer func(ctx context.Context, account meshsync.Account) (string, error)
}

const (
	// A token that was just made is not known to every server at once.
	lagTries = 10
	lagPause = 100 * time.Millisecond

	farewell = 5 * time.Second // to give a token back
)

// token is what to show for an account, and how to give it back.
func (i *Issuer) token(ctx context.Context, conn grpc.ClientConnInterface, account meshsync.Account) (token string, back func(), err error) {
	login := i.config.Login
	switch {
	case login == nil && i.config.Token == nil:
		return "", func() {}, nil
	case login == nil:
		token, err = i.config.Token(ctx, account)
		return token, func() {}, err
	}
	bearer, err := login.Bearer(ctx, account)
	if err != nil {
		return "", nil, err
	}
	acl := pbacl.NewACLServiceClient(conn)
	answer, err := acl.Login(ctx, &pbacl.LoginRequest{AuthMethod: login.Method, BearerToken: bearer, Meta: map[string]string{"gatehouse": account.Name}})
	if err != nil {
		return "", nil, explain(rpc.Error("Login", err, bearer), login.Method, account)
	}
	token = answer.GetToken().GetSecretId()
	return token, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		// One that stays ends by the method's own MaxTokenTTL.
		_, _ = acl.Logout(ctx, &pbacl.LogoutRequest{Token: token})
	}, nil
}

// explain says what Consul must know of an account.
func explain(err error, method string, account meshsync.Account) error {
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.Code != lbmodel.CodeDenied && e.Code != lbmodel.CodeInvalid {
		return err
	}
	return lbmodel.Errorf(e.Code, e.Op, e.ID, "auth method %s lets ServiceAccount %s/%s not in: it must be of type kubernetes, of this cluster, with a binding rule that makes an account the service of its name: %w",
		method, account.Namespace, account.Name, e.Err)
}

// unknown says whether a server does not know a token, which after a login means that
// it does not yet.
func unknown(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ACL not found")
}

// settle asks until the token is known, or a second has passed.
func settle(ctx context.Context, ask func() error) error {
	err := ask()
	for range lagTries {
		if !unknown(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lagPause):
		}
		err = ask()
	}
	return err
}
