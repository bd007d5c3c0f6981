package cloud

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childVariable makes the test binary the process that is killed, and says in
// which directory it works.
const childVariable = "GATEHOUSE_FAKE_CLOUD_CRASH_DIR"

// crashingChild writes without an end, and prints each write once it is confirmed:
// "network idleSeconds".
func crashingChild(dir string) int {
	c, err := New(Options{StateDir: dir, CompactAfter: 8})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for n := int32(highest(c)) + 1; ; n++ {
		if err := write(c, n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(n)
	}
}

// write deletes what is older than network n-1, makes n and changes n-1: a delete,
// a create and an update, each of them a point to die at.
func write(c *Cloud, n int32) error {
	ctx := context.Background()
	for _, o := range c.Dump() {
		if number(o) >= int(n)-1 {
			continue
		}
		if err := c.Delete(ctx, o.Handle); err != nil {
			return err
		}
	}
	name := "n" + strconv.Itoa(int(n))
	if _, err := c.Create(ctx, CreateRequest{Kind: KindNetwork, Location: "local", Name: name, Body: encode(&Network{})}); err != nil {
		return err
	}
	_, err := c.Update(ctx, UpdateRequest{Handle: c.Dump()[0].Handle, Body: encode(&Network{IdleSeconds: n})})
	return err
}

func number(o Object) int {
	n, err := strconv.Atoi(strings.TrimPrefix(o.Name, "n"))
	if err != nil {
		panic(err)
	}
	return n
}

// highest is the number of the last network.
func highest(c *Cloud) int {
	out := 0
	for _, o := range c.Dump() {
		out = max(out, number(o))
	}
	return out
}

// Why: kill -9 between (and in the middle of) any two calls is a supported
// operation. What was confirmed is there, and what is there can be loaded.
func TestKilledAtAnyPoint(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(9, 9))
	confirmed, compactions := 0, 0
	for round := range 25 {
		last := killChild(t, dir, time.Duration(random.IntN(4000))*time.Microsecond)
		confirmed = max(confirmed, last)
		c, err := New(Options{StateDir: dir})
		if err != nil {
			t.Fatalf("round %d: the state cannot be loaded: %v", round, err)
		}
		if got := highest(c); got < confirmed {
			t.Fatalf("round %d: network %d was confirmed, and the last one there is %d", round, confirmed, got)
		}
		if n := len(c.Dump()); n > 2 {
			t.Fatalf("round %d: %d networks are there, want 2 at most: a delete was lost", round, n)
		}
		closeCloud(t, c)
		if _, err := os.Stat(dir + "/" + snapshotName); err == nil {
			compactions++
		}
	}
	if confirmed == 0 || compactions == 0 {
		t.Errorf("%d writes and %d snapshots: the child was always killed too soon to show anything", confirmed, compactions)
	}
}

// killChild starts a writer, kills it some time after its first write, and returns
// the last write that it confirmed.
func killChild(t *testing.T, dir string, after time.Duration) int {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	last := readConfirmed(t, lines)
	time.AfterFunc(after, func() { _ = child.Process.Kill() }) // it ends in no other way
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			break // a line that was cut off says nothing
		}
		last, err = strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the child was not killed: %v", err)
	}
	return last
}

func readConfirmed(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("the child says %q", text)
	}
	return n
}

// leaksKey says whether a text holds a private key in any usual form.
func leaksKey(t *testing.T, text string, key crypto.PrivateKey) bool {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := key.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		base64.StdEncoding.EncodeToString(der)[:60], hex.EncodeToString(scalar), string(scalar),
		base64.StdEncoding.EncodeToString(scalar)[:40],
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}
