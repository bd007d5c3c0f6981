package tokens

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"
)

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

// Check says whose a token is. Errors are [ErrRefused] or of the way there.
type Check func(ctx context.Context, token, audience string) (Account, error)

// ErrRefused is a token that is unknown, revoked, expired or for another audience.
var ErrRefused = errors.New("the token is refused")

// Store holds tokens in memory. It may be used by many goroutines.
type Store struct {
	now func() time.Time

	mu   sync.Mutex
	held map[string]token
}

type token struct {
	account   Account
	audiences []string
	until     time.Time
}

// NewStore makes a store; a nil clock is time.Now.
func NewStore(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, held: map[string]token{}}
}

// Mint makes a token that lives an hour.
func (s *Store) Mint(a Account, audiences ...string) string {
	return s.MintFor(time.Hour, a, audiences...)
}

// MintFor makes a token with a life of its own.
func (s *Store) MintFor(life time.Duration, a Account, audiences ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := rand.Text()
	s.held[text] = token{a, audiences, s.now().Add(life)}
	return text
}

// Revoke ends a token.
func (s *Store) Revoke(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, text)
}

// Check is a [Check].
func (s *Store) Check(_ context.Context, text, audience string) (Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.held[text]
	if !ok || !slices.Contains(t.audiences, audience) || !s.now().Before(t.until) {
		return Account{}, ErrRefused
	}
	return t.account, nil
}
