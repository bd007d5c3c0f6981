package consul

import (
	"context"
	"crypto/rand"

	"github.com/hashicorp/consul/proto-public/pbacl"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse.dev/fake/mesh/tokens"
)

// Auth is an auth method of type kubernetes, with the binding rule of consul-k8s: who
// logs in may write the service that is named as its ServiceAccount.
type Auth struct {
	Method string
	Tokens tokens.Check // of the API server's own audience, ""
	Lag    int          // how often a new token is not known yet: it is replicated
}

// login is a token that was got by one.
type login struct {
	service string
	lag     int
}

// acl is Consul's ACLService.
type acl struct {
	pbacl.UnimplementedACLServiceServer
	server *Server
}

// Login implements the service.
func (a acl) Login(ctx context.Context, r *pbacl.LoginRequest) (*pbacl.LoginResponse, error) {
	auth := a.server.config.Auth
	if auth == nil || r.GetAuthMethod() != auth.Method {
		return nil, status.Errorf(codes.InvalidArgument, "auth method %q not found", r.GetAuthMethod())
	}
	account, err := auth.Tokens(ctx, r.GetBearerToken(), "")
	if err != nil {
		return nil, status.Error(codes.PermissionDenied, "Permission denied: lookup failed: service account token is not valid")
	}
	token := rand.Text()
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	a.server.logins[token] = login{account.Name, auth.Lag}
	return &pbacl.LoginResponse{Token: &pbacl.LoginToken{AccessorId: "a", SecretId: token}}, nil
}

// Logout implements the service.
func (a acl) Logout(_ context.Context, r *pbacl.LogoutRequest) (*pbacl.LogoutResponse, error) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	if _, there := a.server.logins[r.GetToken()]; !there {
		return nil, status.Error(codes.NotFound, "ACL not found")
	}
	delete(a.server.logins, r.GetToken())
	return &pbacl.LogoutResponse{}, nil
}

// Logins is how many tokens there are that nobody gave back.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.logins)
}

// loggedIn is the service that a token was given for; it is not known while the token
// is not replicated, or never was one.
func (s *Server) loggedIn(token string) (service string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, there := s.logins[token]
	if !there || l.lag > 0 {
		l.lag--
		if there {
			s.logins[token] = l
		}
		return "", false
	}
	return l.service, true
}
