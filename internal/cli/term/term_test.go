package term

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestColours follows no-color.org and bixense.com/clicolors: who says no wins,
// who forces gets them even in a file.
func TestColours(t *testing.T) {
	cases := []struct {
		name, why string
		env       map[string]string
		wish      Wish
		want      bool
	}{
		{"a file", "nobody sees colours in a file", nil, Auto, false},
		{"forced", "CLICOLOR_FORCE is for pagers and CI logs", map[string]string{"CLICOLOR_FORCE": "1"}, Auto, true},
		{"forced by 0", "0 is not forced", map[string]string{"CLICOLOR_FORCE": "0"}, Auto, false},
		{"no colour beats force", "NO_COLOR is the user's last word", map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, Auto, false},
		{"the flag beats force", "--no-color too", map[string]string{"CLICOLOR_FORCE": "1"}, Never, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := NewScreen(&bytes.Buffer{}, func(name string) string { return c.env[name] }, c.wish)
			if s.Painted() != c.want {
				t.Errorf("Painted = %v, want %v: %s", s.Painted(), c.want, c.why)
			}
			if painted := s.Paint(Red, "x") != "x"; painted != c.want {
				t.Errorf("Paint painted %v, want %v", painted, c.want)
			}
		})
	}
}

// TestTable lines columns up by what is seen: runes, without colour codes, and
// leaves no trailing blanks for copying.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	s := Screen{Writer: &out, painted: true, width: 80}
	table := Table{Header: []string{"name", "what", "more"}}
	table.Cells(Cell{Text: "é", Paint: Red}, Cell{Text: "longer"}, Cell{})
	table.Row("plain", "x", "y")
	table.Print(s, "  ")
	want := "  \x1b[2mNAME\x1b[0m   \x1b[2mWHAT\x1b[0m    \x1b[2mMORE\x1b[0m\n" +
		"  \x1b[31mé\x1b[0m      longer\n" +
		"  plain  x       y\n"
	if out.String() != want {
		t.Errorf("table:\n%q\nwant\n%q", out.String(), want)
	}
}

func TestWrap(t *testing.T) {
	cases := []struct {
		name, text string
		want       []string
	}{
		{"short", "a b", []string{"a b"}},
		{"breaks at blanks", "one two three", []string{"one two", "three"}},
		{"never inside a word", "averyverylongword b", []string{"averyverylongword", "b"}},
		{"empty", "", []string{""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Wrap(c.text, 8); !slices.Equal(got, c.want) {
				t.Errorf("Wrap = %q, want %q: a line is as full as its words allow", got, c.want)
			}
		})
	}
}

// TestProgress moves on a live screen, leaves no trace there, and is silent
// everywhere else.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live, file bytes.Buffer
		p := NewProgress(Screen{Writer: &live, Live: true, width: 12}, "first")
		q := NewProgress(Screen{Writer: &file, width: 12}, "first")
		time.Sleep(3 * tick / 2)
		p.Say("a line that is too long")
		time.Sleep(tick)
		p.Stop()
		q.Stop()
		if !strings.Contains(live.String(), "first") || !strings.Contains(live.String(), "a line t…") {
			t.Errorf("the line did not move: %q", live.String())
		}
		if !strings.HasSuffix(live.String(), "\r\x1b[K") {
			t.Errorf("the line stays behind: %q", live.String())
		}
		if file.Len() > 0 {
			t.Errorf("progress in a file: %q", file.String())
		}
	})
}
