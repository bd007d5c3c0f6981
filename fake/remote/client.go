package remote

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Config says where the fake cloud is, and how to prove that one may call it.
type Config struct {
	Address   string            // unix:///path/of/the.sock
	TokenFile string            // read before every call, so that it may be replaced; the socket's path and ".token"
	Keyring   providers.Keyring // where keys come from when a certificate is applied; nil is for clients that only plan
}

// Remote is the fake provider over a cloud in another process.
type Remote struct {
	Provider *cloud.Provider
	client   *client
}

// Open makes a Remote. It calls nobody: a cloud that is not there is Unavailable to
// each call, and comes back without anything to be done here.
func Open(c Config) (*Remote, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	return &Remote{Provider: cloud.NewProvider(client, c.Keyring), client: client}, nil
}

// Patience suits a cloud whose slowest things take milliseconds. One that is away is
// soon given up on: whoever plans comes again.
func (r *Remote) Patience() providers.Patience {
	return providers.Patience{Cap: 25 * time.Millisecond, Pending: 10 * time.Second}
}

// Close gives the connections back. It is for the end: a call makes new ones.
func (r *Remote) Close() error {
	r.client.http.CloseIdleConnections()
	return nil
}

// client is a cloud.API over the socket. It does each call once: see the package's
// documentation.
type client struct {
	http      *http.Client
	path      string
	tokenFile string
}

var _ cloud.API = (*client)(nil)

func newClient(c Config) (*client, error) {
	path, err := pathOf(c.Address)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	transport := &http.Transport{
		DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
		ResponseHeaderTimeout: maxCallTime + 30*time.Second, // for callers without a deadline
	}
	return &client{http: &http.Client{Transport: transport}, path: path, tokenFile: tokenFile(c.TokenFile, path)}, nil
}

// Create implements cloud.Writer.
func (c *client) Create(ctx context.Context, r cloud.CreateRequest) (cloud.Object, error) {
	key, err := secretOf(r.Key)
	if err != nil {
		return cloud.Object{}, refuse(cloud.InvalidArgument, "%w", err)
	}
	return call[cloud.Object](ctx, c, pathCreate, createRequest{Kind: r.Kind, Location: r.Location, Name: r.Name, Tags: r.Tags, Body: r.Body, Key: key})
}

// Update implements cloud.Writer.
func (c *client) Update(ctx context.Context, r cloud.UpdateRequest) (cloud.Object, error) {
	key, err := secretOf(r.Key)
	if err != nil {
		return cloud.Object{}, refuse(cloud.InvalidArgument, "%w", err)
	}
	return call[cloud.Object](ctx, c, pathUpdate, updateRequest{Handle: r.Handle, Version: r.Version, Body: r.Body, Key: key})
}

// Delete implements cloud.Writer.
func (c *client) Delete(ctx context.Context, h lbmodel.Handle) error {
	_, err := call[nothing](ctx, c, pathDelete, handleRequest{h})
	return err
}

// Mark implements cloud.Writer.
func (c *client) Mark(ctx context.Context, h lbmodel.Handle, dropped time.Time) (cloud.Object, error) {
	return call[cloud.Object](ctx, c, pathMark, markRequest{h, dropped})
}

// Get implements cloud.Reader.
func (c *client) Get(ctx context.Context, h lbmodel.Handle) (cloud.Object, error) {
	return call[cloud.Object](ctx, c, pathGet, handleRequest{h})
}

// Find implements cloud.Reader.
func (c *client) Find(ctx context.Context, kind, location, name string) (cloud.Object, error) {
	return call[cloud.Object](ctx, c, pathFind, findRequest{kind, location, name})
}

// List implements cloud.Reader.
func (c *client) List(ctx context.Context, r cloud.ListRequest) (cloud.Page, error) {
	out, err := call[page](ctx, c, pathList, listRequest(r))
	return cloud.Page(out), err
}

// call does one call. What fails before an answer is there is Unavailable, or the
// context's own error.
func call[Out any](ctx context.Context, c *client, path string, in any) (Out, error) {
	var out Out
	if err := ctx.Err(); err != nil {
		return out, err
	}
	token, err := readToken(c.tokenFile)
	if err != nil {
		return out, c.closed(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud"+path, bytes.NewReader(encode(in)))
	if err != nil {
		return out, refuse(cloud.Unexplained, "%w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return out, c.broken(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil || len(body) > maxReply {
		return out, c.broken(ctx, errors.Join(err, errTooLong(len(body))))
	}
	return out, decode(response.StatusCode, body, &out)
}

func errTooLong(n int) error {
	if n <= maxReply {
		return nil
	}
	return fmt.Errorf("the answer has more than %d bytes", maxReply)
}

// decode reads an answer into out, or the error that it is.
func decode(status int, body []byte, out any) error {
	if status != http.StatusOK {
		var f failure
		if err := json.Unmarshal(body, &f); err != nil || f.Code == "" {
			return refuse(cloud.Unexplained, "the socket answers HTTP %d and no reason: is it a fake cloud, of this version?", status)
		}
		return f.err()
	}
	if err := json.Unmarshal(body, out); err != nil {
		return refuse(cloud.Unexplained, "the answer cannot be read: %w: is the fake cloud of this version?", err)
	}
	return nil
}

// closed is the error of a token that is not to be had. Where no cloud was ever
// started there is none either, and a token is not what is missing.
func (c *client) closed(err error) error {
	if _, gone := os.Lstat(c.path); errors.Is(gone, fs.ErrNotExist) {
		return c.absent(gone)
	}
	return refuse(cloud.AccessDenied, "%w", err)
}

func (c *client) absent(err error) error {
	return refuse(cloud.ServiceDown, "no fake cloud listens on %s%s: %w: start it with gatehouse fake-cloud --state DIR --socket %s",
		scheme, c.path, cause(err), c.path)
}

// broken is the error of a call without an answer.
func (c *client) broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return c.absent(err)
	case errors.Is(err, fs.ErrPermission):
		return refuse(cloud.AccessDenied, "socket %s: %w: it is its owner's only", c.path, cause(err))
	default:
		return refuse(cloud.ServiceDown, "the connection to %s%s was lost: %w", scheme, c.path, cause(err))
	}
}

// cause is the system's own word: what is around it names an address that is none.
func cause(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	return err
}
