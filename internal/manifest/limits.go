package manifest

import (
	"cmp"
	"fmt"
)

// Limits bound what reading may cost, so that a wrong path or a hostile file is
// an error and not an outage. A zero field has its default.
type Limits struct {
	FileBytes  int64 // of one file: 32 MiB
	TotalBytes int64 // of all files: 128 MiB
	Files      int   // 20,000
	Documents  int   // of all files: 200,000
	Depth      int   // of values inside one another: 100
	Values     int   // in one document, aliases expanded: 2,000,000
}

func (l Limits) orDefault() Limits {
	return Limits{
		FileBytes:  cmp.Or(l.FileBytes, 32<<20),
		TotalBytes: cmp.Or(l.TotalBytes, 128<<20),
		Files:      cmp.Or(l.Files, 20_000),
		Documents:  cmp.Or(l.Documents, 200_000),
		Depth:      cmp.Or(l.Depth, 100),
		Values:     cmp.Or(l.Values, 2_000_000),
	}
}

// bytesText prints a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
