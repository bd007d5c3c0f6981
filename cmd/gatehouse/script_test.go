//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// edit FILE OLD NEW: replaces text that must be there.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	write(ts, args[0], strings.ReplaceAll(text, args[1], args[2]))
}

// write replaces a file as editors do: whole.
func write(ts *testscript.TestScript, name, text string) {
	path := ts.MkAbs(name)
	ts.Check(os.WriteFile(path+".new", []byte(text), 0o644))
	ts.Check(os.Rename(path+".new", path))
}

// shuffle OUT SEED FILE…: writes all documents of some files into one, in a
// random order.
func shuffle(ts *testscript.TestScript, _ bool, args []string) {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	var documents []string
	for _, name := range args[2:] {
		for _, d := range strings.Split(ts.ReadFile(name), "\n---\n") {
			documents = append(documents, strings.TrimSpace(d))
		}
	}
	r := rand.New(rand.NewPCG(seed, seed))
	r.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	write(ts, args[0], strings.Join(documents, "\n---\n")+"\n")
}

// bigfile FILE MEGABYTES: writes comments.
func bigfile(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	write(ts, args[0], strings.Repeat(strings.Repeat("#", 1023)+"\n", n<<10))
}

// crlf FILE: gives the PEM block of a "ca.crt: |" CRLF line ends and foreign text
// around it.
func crlf(ts *testscript.TestScript, _ bool, args []string) {
	before, block, ok := strings.Cut(ts.ReadFile(args[0]), "  ca.crt: |\n")
	if !ok {
		ts.Fatalf("%s has no ca.crt", args[0])
	}
	pem := strings.ReplaceAll(block, "    ", "")
	text, err := json.Marshal("# old root\r\n[p11-kit-object-v1]\r\n" + strings.ReplaceAll(pem, "\n", "\r\n") + "trailing text\r\n")
	ts.Check(err)
	write(ts, args[0], before+"  ca.crt: "+string(text)+"\n")
}

// swapkeys FILE: exchanges the first two tls.key values.
func swapKeys(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	keys := regexp.MustCompile(`tls\.key: \S+`).FindAllStringIndex(text, 2)
	if len(keys) != 2 {
		ts.Fatalf("%s has no two keys", args[0])
	}
	a, b := keys[0], keys[1]
	write(ts, args[0], text[:a[0]]+text[b[0]:b[1]]+text[a[1]:b[0]]+text[a[0]:a[1]]+text[b[1]:])
}

// ids FILE OUT: writes the first column of a table.
func ids(ts *testscript.TestScript, _ bool, args []string) {
	var out []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if fields := strings.Fields(line); len(fields) > 0 {
			out = append(out, fields[0])
		}
	}
	slices.Sort(out)
	write(ts, args[1], strings.Join(out, "\n")+"\n")
}

// request ADDRESS URL REGEXP: asks until status, Location and body match, for at
// most ten seconds. With ! it must be refused at once.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: request ADDRESS URL REGEXP")
	}
	want := regexp.MustCompile(args[2])
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := ask(args[0], args[1])
		if want.MatchString(got) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s answers %q, want %s", args[1], got, args[2])
		}
	}
}

func ask(address, to string) string {
	client := http.Client{
		Timeout:       2 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			},
		},
	}
	response, err := client.Get(to)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.Status + " " + response.Header.Get("Location") + " " + string(body)
}
