package account

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Home is where everything of the emulator lives.
type Home struct {
	Account string // 12 digits
	Region  string
}

// ARN names a resource of a service.
func (h Home) ARN(service, resource string) string {
	return "arn:aws:" + service + ":" + h.Region + ":" + h.Account + ":" + resource
}

// IDs makes names that look random, and are the same in every run: the n-th name
// of an emulator depends on n alone.
type IDs struct{ made uint64 }

func (i *IDs) next() [sha256.Size]byte {
	i.made++
	return sha256.Sum256(binary.BigEndian.AppendUint64(nil, i.made))
}

// Hex is a name of that many hexadecimal digits, at most 64.
func (i *IDs) Hex(digits int) string {
	sum := i.next()
	return hex.EncodeToString(sum[:])[:digits]
}

// Number is a name of ten decimal digits.
func (i *IDs) Number() string {
	sum := i.next()
	return strconv.FormatUint(1e9+binary.BigEndian.Uint64(sum[:])%9e9, 10)
}

// UUID is a name as request ids and certificates have it.
func (i *IDs) UUID() string {
	x := i.Hex(32)
	return x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:]
}

// Presigned is a link as AWS signs it: it names the key, and carries a signature
// that nobody checks.
func Presigned(call *Call, path string, query url.Values) string {
	query.Set("X-Amz-Algorithm", "AWS4-HMAC-SHA256")
	query.Set("X-Amz-Credential", fmt.Sprintf("%s/%s/%s/s3/aws4_request", call.Key, call.Now.Format("20060102"), call.Home.Region))
	query.Set("X-Amz-Date", call.Now.Format("20060102T150405Z"))
	query.Set("X-Amz-Expires", "600")
	query.Set("X-Amz-SignedHeaders", "host")
	query.Set("X-Amz-Signature", strings.Repeat("0", 64))
	return call.Host + path + "?" + query.Encode()
}
