package lbmodel

import (
	"fmt"
	"time"
)

// RetryRule says what makes a failed step worth another try.
type RetryRule uint8

// The rules, from "nothing to do" to "all by itself".
const (
	RetryNever       RetryRule = iota // it did not fail
	RetryOnChange                     // when the object itself, or its class, changes
	RetryOnReference                  // when another object that it names changes
	RetryBackoff                      // after a growing delay
	RetrySlowBackoff                  // likewise, slowly: only a person can help
	RetryWhenTold                     // when the cloud said, or by the delays where it said nothing
	RetryShortPoll                    // soon and often: it is on its way; no worker is held meanwhile
	RetryReobserve                    // look again first: what we knew is out of date
)

// String is the rule's name.
func (r RetryRule) String() string {
	names := [...]string{"Never", "OnChange", "OnReference", "Backoff", "SlowBackoff", "WhenTold", "ShortPoll", "Reobserve"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("RetryRule(%d)", uint8(r))
}

// Notice says who is told of an error besides its condition.
type Notice uint8

// The notices.
const (
	NoticeNone   Notice = iota
	NoticeEvent         // an event on the object: a person must act
	NoticeMetric        // a counter for us: it should not happen
)

// NextTry is what an error code means for the next try. First and Max bound the
// delays that grow by doubling; both are 0 where time alone never helps.
type NextTry struct {
	Rule   RetryRule
	Notice Notice
	First  time.Duration
	Max    time.Duration
}

// Timed says whether waiting alone may help.
func (r NextTry) Timed() bool { return r.Max > 0 }

// Delay is how long to wait before try number attempt (1 is the first retry).
// asked is the error's RetryAfter and wins when it is longer. Where only a person can
// help, who asks for it knows where to see that somebody did: then it is the pace, and
// does not grow. No jitter: that is the caller's, who has the randomness.
func (r NextTry) Delay(attempt int, asked time.Duration) time.Duration {
	switch {
	case !r.Timed():
		return 0
	case r.Rule == RetrySlowBackoff && asked > 0:
		return max(r.First, asked)
	}
	delay := r.First
	for range attempt - 1 {
		if delay >= r.Max/2 {
			delay = r.Max
			break
		}
		delay *= 2
	}
	return max(delay, asked)
}

// RetryOf is the rule of the design's error table for a code. Codes it does not
// know are treated as Unknown.
func RetryOf(c Code) NextTry {
	switch c {
	case CodeOK:
		return NextTry{Rule: RetryNever}
	case CodeInvalid, CodeUnsupported:
		return NextTry{Rule: RetryOnChange}
	case CodeUnresolved:
		return NextTry{Rule: RetryOnReference}
	case CodeConflict, CodeUnavailable:
		return NextTry{Rule: RetryBackoff, First: time.Second, Max: 5 * time.Minute}
	case CodeDenied, CodeQuota:
		return NextTry{Rule: RetrySlowBackoff, Notice: NoticeEvent, First: time.Minute, Max: 30 * time.Minute}
	case CodeThrottled:
		return NextTry{Rule: RetryWhenTold, First: time.Second, Max: time.Minute}
	case CodePending:
		return NextTry{Rule: RetryShortPoll, First: 2 * time.Second, Max: 15 * time.Second}
	case CodeNotFound:
		return NextTry{Rule: RetryReobserve, First: time.Second, Max: time.Minute}
	default: // Internal, Unknown
		return NextTry{Rule: RetryBackoff, Notice: NoticeMetric, First: 5 * time.Second, Max: 10 * time.Minute}
	}
}
