package roots

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"gatehouse.dev/lbmodel"
)

// stream is a gRPC stream that a server tells of its roots on.
type stream struct {
	dial func() (*grpc.ClientConn, error)
	// open starts the stream. What it returns waits for the next answer. An error of
	// the second kind is one of the answer alone.
	open   func(context.Context, *grpc.ClientConn) (receive func() (found []Bundle, bad, err error), err error)
	secret Secret // that the server was told
	// unproved says that the last server could not prove to be who it should be; nil is
	// never.
	unproved func() bool
}

const (
	streamRetry = time.Second // doubled up to
	streamMost  = time.Minute // this
	// maxMessage bounds an answer of several bundles.
	maxMessage = 4 * lbmodel.MaxRootsText
	// alive is how often a silent connection is tried. Servers that say nothing of it
	// refuse less than five minutes.
	alive = 6 * time.Minute
)

var errSilent = errors.New("the stream is open, but no roots came on it in time")

// follow keeps a stream open. One that ended after it had told of roots is opened
// again without a word: servers restart.
func (st stream) follow(ctx context.Context, s Start, l *ledger, tell func([]Bundle)) {
	for failures := 1; ; failures++ {
		heard, err := st.once(ctx, s, l, tell)
		if ctx.Err() != nil {
			return
		}
		now := s.Clock.Now()
		if heard {
			failures = 0
			l.seen(now)
		}
		wait := s.spread(doubled(streamRetry, failures, streamMost))
		if !heard {
			st.missed(l, now, now.Add(wait), err)
			tell(l.all())
		}
		if !s.sleep(ctx, wait) {
			return
		}
	}
}

// once opens the stream and follows it to its end. Heard says whether a good answer
// came.
func (st stream) once(ctx context.Context, s Start, l *ledger, tell func([]Bundle)) (heard bool, _ error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel(nil)
	conn, err := st.dial()
	if err != nil {
		return false, err
	}
	defer conn.Close() //nolint:errcheck // it is over
	answered := make(chan struct{})
	waiting.Go(func() {
		select {
		case <-answered:
		case <-ctx.Done():
		case <-s.Clock.After(patience):
			cancel(errSilent)
		}
	})
	receive, err := st.open(ctx, conn)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	for first := true; ; first = false {
		found, bad, err := receive()
		if err != nil {
			return heard, causeOf(ctx, err)
		}
		if first {
			close(answered)
		}
		if now := s.Clock.Now(); bad != nil {
			l.refused(now, time.Time{}, bad.Error())
		} else {
			l.read(now, time.Time{}, found)
			heard = true
		}
		tell(l.all())
	}
}

// missed notes that a stream told of nothing.
func (st stream) missed(l *ledger, now, next time.Time, err error) {
	if blamesUs(err) || st.unproved != nil && st.unproved() {
		l.refused(now, next, st.reason(err))
		return
	}
	l.failed(now, next, st.reason(err))
}

// causeOf is why a stream ended, if that was us.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// reason is an error of gRPC, fit for a message.
func (st stream) reason(err error) string {
	if s, ok := status.FromError(err); ok {
		return said(s.Code().String()+": "+s.Message(), st.secret)
	}
	return said(err.Error(), st.secret)
}
