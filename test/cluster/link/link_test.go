package link

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPair is a link to a server that repeats what it gets.
func newPair(t *testing.T) *Link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until the client ends it
			}()
		}
	}()
	k, err := New("127.0.0.1:0", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.Close()
		l.Close()
	})
	return k
}

// ask sends a line and reads it back.
func ask(k *Link, patience time.Duration) (time.Duration, error) {
	c, err := net.Dial("tcp", k.Addr().String())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	begin := time.Now()
	if err := c.SetDeadline(begin.Add(patience)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintln(c, "hello"); err != nil {
		return 0, err
	}
	got, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && got != "hello\n" {
		err = fmt.Errorf("got %q", got)
	}
	return time.Since(begin), err
}

func TestQuality(t *testing.T) {
	k := newPair(t)
	for _, c := range []struct {
		name, why string
		quality   Quality
		fails     bool
		atLeast   time.Duration
	}{
		{"good", "the zero value only carries", Quality{}, false, 0},
		{"slow", "both directions take their time", Quality{Delay: 50 * time.Millisecond}, false, 100 * time.Millisecond},
		{"lossy", "a lost connection is reset", Quality{Loss: 1}, true, 0},
		{"cut", "a cut link says nothing", Quality{Cut: true}, true, 0},
		{"good again", "a quality holds until the next", Quality{}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k.Set(c.quality)
			took, err := ask(k, 500*time.Millisecond)
			if (err != nil) != c.fails || err == nil && took < c.atLeast {
				t.Errorf("took %v, error %v: %s", took, err, c.why)
			}
		})
	}
}

// TestReset breaks a connection that is open.
func TestReset(t *testing.T) {
	k := newPair(t)
	c, err := net.Dial("tcp", k.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, "hello"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	k.Reset()
	if _, err := r.ReadString('\n'); err == nil {
		t.Error("the connection lives on")
	}
}
