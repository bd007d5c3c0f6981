//go:build !unix

package cloud

import (
	"errors"
	"os"
)

// lockFile refuses: without a lock that ends with its process, two writers could
// spoil each other's state.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("state directories need a Unix system; leave it out to keep the state in memory")
}
