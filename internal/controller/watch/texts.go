package watch

import (
	"strings"
	"sync"
)

// texts keeps one copy of texts that many objects have alike: the pods of one
// injection, and a bundle of roots that is published in every namespace. The zero
// value is ready, and may be used by many goroutines.
type texts struct {
	mu    sync.Mutex
	known map[string]string
	bytes int
}

// maxTexts is how many bytes the table may hold. What is more is forgotten, and then
// kept twice at most.
const maxTexts = 8 << 20

// one is the copy.
func (t *texts) one(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have, there := t.known[text]; there {
		return have
	}
	if t.bytes+len(text) > maxTexts || t.known == nil {
		t.known, t.bytes = map[string]string{}, 0
	}
	text = strings.Clone(text) // not a part of something larger
	t.known[text] = text
	t.bytes += len(text)
	return text
}
