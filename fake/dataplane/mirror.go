package dataplane

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/netip"

	"gatehouse.dev/lbmodel"
)

// mirror sends copies of a share of the requests to a pool. Copies never make a
// request wait or fail.
type mirror struct {
	pool  *pool
	share *shares // index 0: copy, 1: don't
}

func newMirror(m lbmodel.Mirror, p *pool) mirror {
	numerator, denominator := m.Numerator, m.Denominator
	if denominator <= 0 {
		numerator, denominator = 1, 1
	}
	return mirror{p, newShares([]int32{numerator, max(denominator-numerator, 0)})}
}

// startMirrors arranges for the copies of a request: at once without a body,
// else when the body was read and was little enough to be kept.
func (x *exchange) startMirrors(out *http.Request) {
	for _, list := range [][]mirror{x.route.edits.mirrors, x.backend.edits.mirrors} {
		for _, m := range list {
			if m.share.next() == 0 {
				x.copyTo(m, out)
			}
		}
	}
}

func (x *exchange) copyTo(m mirror, out *http.Request) {
	d := x.socket.plane
	copied := out.Clone(context.WithoutCancel(out.Context()))
	copied.Header.Del("Upgrade")
	copied.Header.Del("Connection")
	copied.Header.Del("Expect")
	if x.body == nil {
		d.mirror(m.pool, copied, nil)
		return
	}
	x.body.whenRead(func(body []byte, whole bool) {
		if !whole {
			d.tallies.fail(DroppedMirror)
			return
		}
		d.mirror(m.pool, copied, bytes.Clone(body))
	})
}

// mirror sends one copy in the background, unless too many are under way.
func (d *DataPlane) mirror(p *pool, r *http.Request, body []byte) {
	l := p.pick(netip.Addr{}, nil)
	if l == nil {
		d.tallies.fail(DroppedMirror)
		return
	}
	select {
	case d.mirrors <- struct{}{}:
	default:
		d.tallies.fail(DroppedMirror)
		return
	}
	d.links.running.Go(func() {
		defer func() { <-d.mirrors }()
		d.sendCopy(l, r, body)
	})
}

func (d *DataPlane) sendCopy(l *link, r *http.Request, body []byte) {
	ctx, cancel := context.WithTimeout(d.links.context, d.config.Limits.MirrorTime)
	defer cancel()
	r = r.WithContext(ctx)
	r.URL.Scheme, r.URL.Host = l.scheme, string(l.key.target)
	r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, int64(len(body))
	if body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	l.begin()
	defer l.end()
	res, err := l.transport.RoundTrip(r)
	if err != nil {
		d.tallies.fail(DroppedMirror)
		if ctx.Err() == nil {
			d.complain(l, err)
		}
		return
	}
	d.relent(l)
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
}
