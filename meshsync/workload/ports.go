package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// Ports is a set of ports. The zero value is empty.
type Ports struct{ spans []span }

type span struct{ low, high int32 }

// Has says whether a port is in the set.
func (p Ports) Has(port int32) bool {
	for _, s := range p.spans {
		if s.low <= port && port <= s.high {
			return true
		}
	}
	return false
}

// ParsePorts reads a list of ports as annotations have it, such as
// "25,8080-8090": numbers and ranges, with blanks around them or not. Names are
// looked up with named, which may be nil. It is an error if any item cannot be
// read, since nobody can say which port was meant; nothing between commas is no
// item.
func ParsePorts(text string, named func(string) []int32) (Ports, error) {
	var ports Ports
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if named != nil {
			if of := named(item); len(of) > 0 {
				for _, p := range of {
					ports.spans = append(ports.spans, span{p, p})
				}
				continue
			}
		}
		s, err := parseSpan(item)
		if err != nil {
			return Ports{}, err
		}
		ports.spans = append(ports.spans, s)
	}
	return ports, nil
}

func parseSpan(item string) (span, error) {
	first, last, isRange := strings.Cut(item, "-")
	low, err := parsePort(first)
	if err != nil || !isRange {
		return span{low, low}, err
	}
	high, err := parsePort(last)
	if err != nil {
		return span{}, err
	}
	if low > high {
		return span{}, fmt.Errorf("ports %q: the first is greater than the last", item)
	}
	return span{low, high}, nil
}

func parsePort(text string) (int32, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q: want a number from 1 to 65535", text)
	}
	return int32(n), nil
}
