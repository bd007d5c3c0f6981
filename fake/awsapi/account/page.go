package account

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Page cuts a list: the part after the marker, at most size long, and the next
// marker, "" at the end. A marker that no page ever gave is refused by ok.
func Page[T any](all []T, marker string, size int) (page []T, next string, ok bool) {
	from := 0
	if marker != "" {
		text, err := base64.StdEncoding.DecodeString(marker)
		number, found := strings.CutPrefix(string(text), "page:")
		at, bad := strconv.Atoi(number)
		if err != nil || !found || bad != nil || at < 0 {
			return nil, "", false
		}
		from = min(at, len(all))
	}
	to := min(len(all), from+size)
	if to < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte("page:" + strconv.Itoa(to)))
	}
	return all[from:to], next, true
}
