// Package filter reads the filters of Google's list methods
// (https://google.aip.dev/160, and compute's older eq and ne): comparisons of fields
// with AND, OR, NOT, a minus and parentheses.
//
// It never refuses a field that a resource does not have: it is just not equal to
// anything. Start with [Parse].
package filter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Filter tells whether an object is in the list.
type Filter func(map[string]any) bool

// Parse reads a filter; the empty one lets everything through.
func Parse(text string) (Filter, error) {
	p := &parser{words: split(text)}
	if len(p.words) == 0 {
		return func(map[string]any) bool { return true }, nil
	}
	f, err := p.any()
	if err == nil && len(p.words) > 0 {
		err = fmt.Errorf("unexpected %q", p.words[0].text)
	}
	return f, err
}

type word struct {
	text   string
	quoted bool
}

var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'|<=|>=|!=|!~|[()=<>:~]|[^\s()=<>:!~"']+(?:"[^"]*"[^\s()=<>:!~"']*)*`)

func split(text string) []word {
	var out []word
	for _, t := range token.FindAllString(text, -1) {
		w := word{text: t}
		switch t[0] {
		case '"':
			if plain, err := strconv.Unquote(t); err == nil {
				w = word{plain, true}
			}
		case '\'':
			w = word{strings.Trim(t, "'"), true}
		}
		out = append(out, w)
	}
	return out
}

type parser struct{ words []word }

func (p *parser) is(text string) bool {
	return len(p.words) > 0 && !p.words[0].quoted && p.words[0].text == text
}

func (p *parser) take() word {
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

// any is terms with OR between. AIP-160 binds OR tighter than AND; so does Google.
func (p *parser) any() (Filter, error) {
	all, err := p.either()
	if err != nil {
		return nil, err
	}
	for len(p.words) > 0 && !p.is(")") {
		if p.is("AND") {
			p.take()
		}
		next, err := p.either()
		if err != nil {
			return nil, err
		}
		before := all
		all = func(o map[string]any) bool { return before(o) && next(o) }
	}
	return all, nil
}

func (p *parser) either() (Filter, error) {
	one, err := p.not()
	if err != nil {
		return nil, err
	}
	for p.is("OR") {
		p.take()
		next, err := p.not()
		if err != nil {
			return nil, err
		}
		before := one
		one = func(o map[string]any) bool { return before(o) || next(o) }
	}
	return one, nil
}

func (p *parser) not() (Filter, error) {
	if p.is("NOT") {
		p.take()
		f, err := p.not()
		return func(o map[string]any) bool { return !f(o) }, err
	}
	if len(p.words) > 0 && !p.words[0].quoted && len(p.words[0].text) > 1 && p.words[0].text[0] == '-' {
		p.words[0].text = p.words[0].text[1:]
		f, err := p.term()
		return func(o map[string]any) bool { return !f(o) }, err
	}
	return p.term()
}

func (p *parser) term() (Filter, error) {
	if p.is("(") {
		p.take()
		f, err := p.any()
		if err != nil {
			return nil, err
		}
		if !p.is(")") {
			return nil, fmt.Errorf("a parenthesis is not closed")
		}
		p.take()
		return f, nil
	}
	if len(p.words) < 3 {
		return nil, fmt.Errorf("want a field, an operator and a value")
	}
	field, operator, value := p.take().text, p.take().text, p.take()
	return compare(field, operator, value.text)
}
