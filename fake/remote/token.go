package remote

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// minToken is how long a token must be, in characters: one that was cut off or
// never filled in opens nothing.
const minToken = 16

// readToken reads a token; there is no call without one.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken {
		return "", fmt.Errorf("token file %s holds %d characters, want at least %d: remove it and start the fake cloud again, which makes one", path, len(token), minToken)
	}
	return token, nil
}

// ensureToken reads the server's token, and makes one where there is none.
func ensureToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return readToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	bytes := make([]byte, 32)
	_, _ = rand.Read(bytes) // never fails
	token := hex.EncodeToString(bytes)
	if _, err := f.WriteString(token + "\n"); err != nil {
		return "", errors.Join(fmt.Errorf("token file: %w", err), f.Close(), os.Remove(path))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	return token, nil
}
