package remote

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/cloud/cloudtest"
	"gatehouse.dev/providers/providertest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

// sampled is how many calls there are for each that is tried: fake/cloud tries them all,
// and a socket makes none of them special.
const sampled = 20

// Why: across a socket the fake is still the same provider, with every law.
func TestLaws(t *testing.T) {
	h := cloudtest.Harness(reach)
	h.Every, h.First = sampled, rand.IntN(sampled)
	t.Logf("calls %d, %d and so on are tried", h.First, h.First+sampled)
	providertest.Run(t, h)
}

// reach puts a cloud behind a socket of its own.
func reach(tb testing.TB, c *cloud.Cloud) cloud.API {
	tb.Helper()
	address := behind(tb, func(keys *shelf) cloud.API {
		keys.held = func() map[string]bool { return leavesOf(c) }
		return &guarded{API: c, shelf: keys, log: slog.New(slog.DiscardHandler)}
	})
	r := open(tb, Config{Address: address})
	return r.client
}

// behind answers an API on a socket, as a Server does, and returns its address.
func behind(tb testing.TB, api func(*shelf) cloud.API) string {
	tb.Helper()
	dir := directory(tb)
	keys, err := openShelf(filepath.Join(dir, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	token, err := ensureToken(path + tokenSuffix)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := listen(context.Background(), path)
	if err != nil {
		tb.Fatal(err)
	}
	s := Server{failed: make(chan error, 1), listener: listener}
	s.answer(newHandler(api(keys), token, slog.New(slog.DiscardHandler)))
	tb.Cleanup(func() {
		if err := s.endCalls(); err != nil {
			tb.Error(err)
		}
	})
	return scheme + path
}

// open is a client that ends with the test.
func open(tb testing.TB, c Config) *Remote {
	tb.Helper()
	r, err := Open(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}
