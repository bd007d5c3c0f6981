package roots

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// Consul is the list of a Consul's CA roots over HTTP, read by blocking queries: a
// change is known at once, and everything is read anew at least every five minutes,
// for a Consul may miss one (consul #8681). All roots count, those too that sign no
// more. Use ConsulStream where its gRPC port can be reached.
type Consul struct {
	URL string // of the server or agent, such as https://consul.example:8501
	// TrustDomain is the one that is expected, "<uuid>.consul"; "" is any.
	TrustDomain string
	Token       Secret // any valid one will do; "" is anonymous
	// ServerRoots are whom the server is verified by, in PEM (the agents' CA, which is
	// not the mesh's); "": the system's roots. ServerName is its name there, if it is
	// not the URL's: "server.dc1.consul".
	ServerRoots, ServerName string
	Wait                    time.Duration // of one blocking query; zero is 5 min
}

const (
	consulPath  = "/v1/connect/ca/roots"
	consulWait  = 5 * time.Minute
	consulPause = 2 * time.Second  // between queries that found something
	consulPoll  = time.Minute      // where queries do not block
	consulRetry = 5 * time.Second  // doubled up to
	consulMost  = 5 * time.Minute  // this
	consulSlack = 30 * time.Second // beyond a query's wait, and the sixteenth that Consul adds
)

// Where implements Source.
func (c Consul) Where() string {
	if u, err := url.Parse(c.URL); err == nil {
		return "Consul at " + u.Host
	}
	return "Consul"
}

// Watch implements Source.
func (c Consul) Watch(ctx context.Context, s Start, tell func([]Bundle)) {
	l := newLedger(c.TrustDomain, s.Last)
	r, err := c.reader(s)
	if err != nil {
		refuse(ctx, s, l, err, tell)
		return
	}
	poll(ctx, s, l, pace{usual: consulPoll, retry: consulRetry, most: consulMost}, r.read, tell)
}

// consulReader makes the queries.
type consulReader struct {
	Consul
	at    *url.URL
	web   web
	index uint64 // that the last answer had; zero does not block
}

var errPlain = errors.New("roots and tokens travel by TLS alone, unless the server is on this host")

func (c Consul) reader(s Start) (*consulReader, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL of Consul is not one of https")
	case u.User != nil:
		return nil, fmt.Errorf("%s: the URL has a user in it", place(u))
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%s: %w", place(u), errPlain)
	}
	pool, err := poolOf(c.ServerRoots)
	if err != nil {
		return nil, err
	}
	c.Wait = cmp.Or(c.Wait, consulWait)
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/") + consulPath}
	timeout := c.Wait + c.Wait/16 + consulSlack
	return &consulReader{Consul: c, at: at, web: newWeb(s, &tls.Config{RootCAs: pool, ServerName: c.ServerName}, timeout, noRedirect)}, nil
}

func (r *consulReader) read(ctx context.Context) (reading, error) {
	at, header := *r.at, http.Header{}
	if r.Token != "" {
		header.Set("X-Consul-Token", string(r.Token))
	}
	if r.index > 0 {
		at.RawQuery = url.Values{"index": {strconv.FormatUint(r.index, 10)}, "wait": {r.Wait.String()}}.Encode()
	}
	a, err := r.web.get(ctx, &at, header)
	if err != nil {
		r.index = 0 // the next answer says at once what holds
		return reading{}, r.because(err, a)
	}
	found, err := r.parse(a.body)
	if err != nil {
		r.index = 0
		return reading{}, refusal{fmt.Errorf("%s: %w", place(&at), err)}
	}
	index, err := strconv.ParseUint(a.header.Get("X-Consul-Index"), 10, 64)
	if err != nil || index < r.index { // it went back: Consul was restored
		index = 0
	}
	r.index = index
	next := consulPause
	if index == 0 {
		next = consulPoll
	}
	return reading{found: []Bundle{found}, next: next}, nil
}

// because adds what Consul says of a refusal.
func (r *consulReader) because(err error, a answer) error {
	if a.status == http.StatusForbidden && r.Token == "" {
		err = fmt.Errorf("%w: no token was sent, and this Consul wants one", err)
	}
	if text := said(string(a.body), r.Token); a.status >= 400 && text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// consulRoots is the answer, as far as it matters.
type consulRoots struct {
	TrustDomain string
	Roots       []struct{ RootCert string }
}

func (r *consulReader) parse(body []byte) (Bundle, error) {
	var list consulRoots
	if err := json.Unmarshal(body, &list); err != nil {
		return Bundle{}, errors.New("the answer is no list of roots")
	}
	var texts []string
	for _, root := range list.Roots {
		texts = append(texts, root.RootCert)
	}
	return consulBundle(r.TrustDomain, list.TrustDomain, texts)
}

// consulBundle is what both interfaces say.
func consulBundle(want, got string, texts []string) (Bundle, error) {
	switch {
	case got == "":
		return Bundle{}, errors.New("the answer names no trust domain")
	case want != "" && got != want:
		return Bundle{}, fmt.Errorf("the roots are of trust domain %q and not of %q", said(got, ""), want)
	case len(texts) == 0:
		return Bundle{Name: got}, nil
	}
	found, err := lbmodel.ParseRoots([]byte(strings.Join(texts, "\n")))
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{Name: got, Roots: found}, nil
}
