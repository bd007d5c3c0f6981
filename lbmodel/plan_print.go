package lbmodel

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Style says how a plan is dressed. Whether a terminal wants colour is the
// caller's to know.
type Style uint8

// The styles.
const (
	Plain Style = iota
	ANSI        // colours by ECMA-48 escape sequences
)

// attributeLimit bounds the lines of one resource. Resources are never left out.
const attributeLimit = 40

// PrintPlan writes a plan for people: what drifted, every step with its changed
// attributes and why, what the user must agree to, what waits until when, and
// the count. Control characters in names and values are escaped, so that no
// object can write to the reader's terminal.
func PrintPlan(w io.Writer, p Plan, style Style) error {
	out := planPrinter{style: style}
	out.drift(p.Steps)
	out.steps(p.Steps)
	out.impacts(p.Steps)
	out.waits(p.Later)
	out.count(p)
	_, err := w.Write(out.text.Bytes())
	return err
}

// planPrinter collects the text of a plan.
type planPrinter struct {
	text  bytes.Buffer
	style Style
}

// paint is an ECMA-48 "select graphic rendition" parameter.
type paint string

const (
	bold   paint = "1"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
)

func (p *planPrinter) painted(colour paint, text string) string {
	if p.style == Plain {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}

func (p *planPrinter) heading(text string) {
	fmt.Fprintf(&p.text, "%s\n\n", p.painted(bold, text))
}

// line writes one line behind a symbol: indent counts the columns before it.
func (p *planPrinter) line(indent int, symbol, text string) {
	fmt.Fprintf(&p.text, "%*s%s %s\n", indent, "", p.painted(paintOf(symbol), symbol), printable(text))
}

func paintOf(symbol string) paint {
	switch symbol {
	case "+":
		return green
	case "-", "!":
		return red
	case "~":
		return yellow
	default:
		return bold
	}
}

func (p *planPrinter) drift(steps []Step) {
	said := false
	for _, s := range steps {
		if s.Cause != Drift {
			continue
		}
		if !said {
			p.heading("Objects have changed outside of Gatehouse")
			said = true
		}
		p.line(2, symbolOf(s.Verb), s.ID.String()+" "+s.Why)
	}
	if said {
		p.text.WriteByte('\n')
	}
}

func (p *planPrinter) steps(steps []Step) {
	if len(steps) == 0 {
		return
	}
	p.heading("Gatehouse will make these changes")
	for _, s := range steps {
		p.line(2, "#", s.ID.String()+" will be "+pastOf(s.Verb)+holdNote(s.Hold))
		if why := cause(s); why != "" {
			p.line(2, "#", "why: "+why)
		}
		p.line(2, symbolOf(s.Verb), s.ID.String())
		p.attributes(s)
		p.text.WriteByte('\n')
	}
}

// cause is why a step is needed, without what the heading above it and the
// attributes below it show.
func cause(s Step) string {
	switch {
	case s.For != nil:
		return s.Why
	case s.Verb == Create && s.Cause == Desire:
		return ""
	case s.Verb != Update:
		return s.Why
	case s.Cause == Drift:
		return "was changed outside of Gatehouse, is put back"
	default:
		return "is wanted otherwise"
	}
}

// attributes writes what a step changes, one line each.
func (p *planPrinter) attributes(s Step) {
	var changes []Change
	for _, c := range Explain(s.Have.Spec, s.Want) {
		changes = spread(changes, c)
	}
	for i, c := range changes {
		if i == attributeLimit {
			p.line(6, "…", fmt.Sprintf("and %d more", len(changes)-i))
			return
		}
		p.attribute(c)
	}
}

func (p *planPrinter) attribute(c Change) {
	path := shorten(c.Path, valueLimit)
	switch {
	case c.Old == "":
		p.line(6, "+", path+": "+shownValue(c.New))
	case c.New == "":
		p.line(6, "-", path+": "+shownValue(c.Old))
	default:
		p.line(6, "~", path+": "+shownValue(c.Old)+" -> "+shownValue(c.New))
	}
}

func (p *planPrinter) impacts(steps []Step) {
	said := false
	for _, s := range steps {
		if s.Impact == "" {
			continue
		}
		if !said {
			p.heading("Please agree to these effects")
			said = true
		}
		p.line(2, "!", s.ID.String()+": "+s.Impact)
	}
	if said {
		p.text.WriteByte('\n')
	}
}

func (p *planPrinter) waits(later []Wait) {
	if len(later) == 0 {
		return
	}
	p.heading("Waiting")
	for _, group := range sameReason(later) {
		for i, w := range group {
			if i == reasonLimit && len(group) > reasonLimit+1 {
				p.line(2, "*", fmt.Sprintf("… and %d more for the same reason", len(group)-i))
				break
			}
			p.line(2, "*", w.String())
		}
	}
	p.text.WriteByte('\n')
}

// reasonLimit bounds how many waits for one reason are told.
const reasonLimit = 5

// sameReason puts waits for the same reason together, in the order of the first of each.
func sameReason(later []Wait) [][]Wait {
	var out [][]Wait
	at := map[Wait]int{}
	for _, w := range later {
		reason := w
		reason.ID = ID{}
		if _, ok := at[reason]; !ok {
			at[reason] = len(out)
			out = append(out, nil)
		}
		out[at[reason]] = append(out[at[reason]], w)
	}
	return out
}

// String is one line: who waits, why, and until when.
func (w Wait) String() string {
	out := w.Why
	if w.ID != (ID{}) {
		out = w.ID.String() + " " + out
	}
	switch at := w.Until.UTC().Format(time.RFC3339); {
	case w.Until.IsZero():
		return out
	case w.Reason == WaitRenewal:
		return out + " " + at
	default:
		return out + " (until " + at + ")"
	}
}

func (p *planPrinter) count(plan Plan) {
	n := plan.Summary()
	switch {
	case !plan.Empty():
		fmt.Fprintf(&p.text, "Plan: %d to add, %d to change, %d to destroy.\n", n.Add, n.Change, n.Destroy)
	case n.Wait > 0:
		fmt.Fprintf(&p.text, "No changes. Nothing can be done now; %d waiting (see above).\n", n.Wait)
	default:
		p.text.WriteString("No changes. What is there is what is wanted.\n")
	}
}

func symbolOf(v Verb) string {
	switch v {
	case Create:
		return "+"
	case Delete:
		return "-"
	default:
		return "~"
	}
}

func pastOf(v Verb) string {
	switch v {
	case Create:
		return "created"
	case Delete:
		return "destroyed"
	default:
		return "updated in place"
	}
}

func holdNote(h Hold) string {
	switch h {
	case Shared:
		return " (shared)"
	case Adopted:
		return " (adopted: only the fields shown are managed)"
	default:
		return ""
	}
}

// printable escapes what a terminal could act upon or a reader could not see.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}
