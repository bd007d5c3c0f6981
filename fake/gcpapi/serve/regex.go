package serve

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxRegex is the longest regular expression of a URL map.
const maxRegex = 250

// compileRegex makes a regex of the RE2 subset, matching as RegexExtent says.
func compileRegex(text string, s *Switches) (*regexp.Regexp, error) {
	if err := checkRegex(text); err != nil {
		return nil, err
	}
	if s.RegexExtent == Search {
		return regexp.Compile(text)
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

// checkRegex says what is outside of the subset ("RE2 specifications for URL maps").
func checkRegex(text string) error {
	if len(text) > maxRegex {
		return fmt.Errorf("a regular expression may have %d characters, this one has %d", maxRegex, len(text))
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return err
	}
	return checkGroups(tree)
}

func checkGroups(tree *syntax.Regexp) error {
	switch tree.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		if tree.Sub[0].Op == syntax.OpCapture || tree.Sub[0].Op == syntax.OpConcat || tree.Sub[0].Op == syntax.OpAlternate {
			return errors.New("a group must not be repeated")
		}
	}
	for _, sub := range tree.Sub {
		if err := checkGroups(sub); err != nil {
			return err
		}
	}
	return nil
}
