package term

import (
	"sync"
	"time"
	"unicode/utf8"
)

// Progress is one line at the bottom of a live screen that says what goes on. On
// any other screen it is silent. All methods may be called concurrently.
type Progress struct {
	screen Screen
	done   chan struct{}
	gone   sync.WaitGroup

	mu   sync.Mutex
	text string
	turn int
}

// tick is how often the line moves, so that a person sees that it lives.
const tick = 120 * time.Millisecond

// NewProgress shows text until Stop.
func NewProgress(s Screen, text string) *Progress {
	p := &Progress{screen: s, text: text, done: make(chan struct{})}
	if s.Live {
		p.gone.Go(p.run)
	}
	return p
}

// Say changes the text.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
}

// Stop takes the line away. It must be called once.
func (p *Progress) Stop() {
	close(p.done)
	p.gone.Wait()
	if p.screen.Live {
		p.screen.Printf("\r\x1b[K")
	}
}

func (p *Progress) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.draw()
		}
	}
}

func (p *Progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	wheel := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	p.turn = (p.turn + 1) % len(wheel)
	p.screen.Printf("\r\x1b[K%s %s", p.screen.Paint(Cyan, string(wheel[p.turn])), shorten(p.text, p.screen.width-3))
}

func shorten(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width-1, 0)]) + "…"
}
