package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// scheme is how the address of a socket begins.
const scheme = "unix://"

// tokenSuffix makes the token file's usual name from the socket's.
const tokenSuffix = ".token"

// maxSocket is how long a socket's path may be, in bytes: what every Unix has room
// for in sun_path.
const maxSocket = 103

// pathOf is the path of an address, as unix:///run/gatehouse/cloud.sock.
func pathOf(address string) (string, error) {
	path, ok := strings.CutPrefix(address, scheme)
	if !ok || !filepath.IsAbs(path) {
		return "", fmt.Errorf("address of the fake cloud: %q is not of the form unix:///path/of/the.sock", address)
	}
	return path, checkPath(path)
}

func checkPath(path string) error {
	if len(path) > maxSocket {
		return fmt.Errorf("socket %s: the path has %d bytes, and the system takes %d: use a shorter one", path, len(path), maxSocket)
	}
	return nil
}

func tokenFile(given, socket string) string { return cmp.Or(given, socket+tokenSuffix) }

// listen opens the socket for this user only. What a process that was killed has
// left there is taken away; a process that is alive is not.
func listen(ctx context.Context, path string) (*net.UnixListener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := private(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := clearLeft(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	return l.(*net.UnixListener), nil
}

// private makes sure that nobody else can reach into a directory: until its mode is
// set, a new socket is only as closed as where it is.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("socket's directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("socket's directory: %w", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return fmt.Errorf("socket's directory %s has mode %#o, and others could reach the socket: "+
			"choose a directory of its own, or run chmod 700 on it", dir, info.Mode().Perm())
	}
	return nil
}

// clearLeft removes a socket that nobody listens on.
func clearLeft(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket %s: another file is there: choose another path, or remove it", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s: another process listens there: stop it first, or choose another path", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	return nil
}
