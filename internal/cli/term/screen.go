package term

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Screen is somewhere to write, and what it can show.
type Screen struct {
	io.Writer
	Live    bool // a terminal that can move its cursor
	painted bool
	width   int
}

// Wish is what the user asked for about colours.
type Wish uint8

// The wishes. Auto follows NO_COLOR (no-color.org), CLICOLOR and CLICOLOR_FORCE
// (bixense.com/clicolors), TERM and whether the place is a terminal.
const (
	Auto Wish = iota
	Never
)

// fallbackWidth is that of text which no terminal wraps.
const fallbackWidth = 100

// NewScreen looks at w and at the environment.
func NewScreen(w io.Writer, env func(string) string, wish Wish) Screen {
	s := Screen{Writer: &sink{to: w}, width: fallbackWidth}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.Live = env("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.width = width
		}
	}
	s.painted = wish != Never && painted(s.Live, env)
	return s
}

func painted(live bool, env func(string) string) bool {
	forced := env("CLICOLOR_FORCE")
	switch {
	case env("NO_COLOR") != "":
		return false
	case forced != "" && forced != "0":
		return true
	default:
		return live && env("CLICOLOR") != "0"
	}
}

// Painted says whether colours are shown.
func (s Screen) Painted() bool { return s.painted }

// Width is the number of columns.
func (s Screen) Width() int { return s.width }

// Paint is a way to stress text. The zero value is none.
type Paint string

// The paints: of the eight basic colours, so that the user's own theme decides.
const (
	Bold   Paint = "1"
	Dim    Paint = "2"
	Red    Paint = "31"
	Green  Paint = "32"
	Yellow Paint = "33"
	Blue   Paint = "34"
	Violet Paint = "35"
	Cyan   Paint = "36"
	Alarm  Paint = "1;31"
	Title  Paint = "1;36"
)

// Paint gives the text in that paint, or as it is where colours are not shown.
func (s Screen) Paint(p Paint, text string) string {
	if !s.painted || p == "" || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// Printf writes. What could not be written is remembered, see Err.
func (s Screen) Printf(format string, args ...any) {
	fmt.Fprintf(s, format, args...)
}

// Println writes a line, likewise.
func (s Screen) Println(args ...any) {
	fmt.Fprintln(s, args...)
}

// Err is the first error of writing: a full disk behind a redirection, say.
func (s Screen) Err() error {
	if sink, ok := s.Writer.(*sink); ok {
		return sink.failed()
	}
	return nil
}

// sink remembers that something could not be written.
type sink struct {
	mu  sync.Mutex
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (k *sink) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, err := k.to.Write(p)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

func (k *sink) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
