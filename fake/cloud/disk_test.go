package cloud

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
)

// kept is a cloud in a directory.
func kept(t testing.TB, dir string, change func(*Options)) *Cloud {
	t.Helper()
	return newCloud(t, func(o *Options) {
		o.StateDir = dir
		if change != nil {
			change(o)
		}
	})
}

func closeCloud(t testing.TB, c *Cloud) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// dumpText is everything in a cloud as text.
func dumpText(c *Cloud) string {
	var out strings.Builder
	for _, o := range c.Dump() {
		out.Write(encode(o))
		out.WriteByte('\n')
	}
	return out.String()
}

func TestStateSurvivesARestart(t *testing.T) {
	for _, compactAfter := range []int{1, 3, 1000} {
		t.Run("compacting after "+strconv.Itoa(compactAfter), func(t *testing.T) {
			dir, keys := t.TempDir(), newKeyring()
			some := func(o *Options) { o.CompactAfter = compactAfter }
			c := kept(t, dir, some)
			l, gw := newLoop(t, c, keys.key), shop(t, keys)
			l.apply(gw)
			gw.Listeners = gw.Listeners[1:]
			l.apply(gw)
			want := dumpText(c)
			closeCloud(t, c)
			c = kept(t, dir, some)
			if diff := cmp.Diff(want, dumpText(c)); diff != "" {
				t.Errorf("a restart changes what is there\n%s", diff)
			}
			newLoop(t, c, keys.key).quiet(gw, "plan and apply are two commands")
			before := mustCreate(t, c, KindNetwork, "n", &Network{}).Handle
			if err := c.Delete(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			closeCloud(t, c)
			c = kept(t, dir, some)
			if after := mustCreate(t, c, KindNetwork, "n", &Network{}).Handle; after == before {
				t.Errorf("the handle %s of a deleted object is used again", after)
			}
		})
	}
}

// Why: a private key that reaches a disk is lost.
func TestNoKeyIsWritten(t *testing.T) {
	dir, keys := t.TempDir(), newKeyring()
	c := kept(t, dir, func(o *Options) { o.CompactAfter = 5 })
	newLoop(t, c, keys.key).apply(shop(t, keys))
	churn(t, c)
	text := dumpText(c)
	for _, name := range []string{snapshotName, journalName} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	if strings.Contains(text, "PRIVATE KEY") {
		t.Error("there is a private key in the state")
	}
	for _, pair := range keys.pairs {
		if leaksKey(t, text, pair.PrivateKey) {
			t.Error("there are bytes of a private key in the state")
		}
	}
}

func TestOneWriterAtATime(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, nil)
	mustCreate(t, c, KindNetwork, "n", &Network{})
	_, err := New(Options{StateDir: dir})
	if err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second writer gets %v, want the holder's process and the directory named", err)
	}
	reader := kept(t, dir, func(o *Options) { o.ReadOnly = true })
	if n := len(reader.Dump()); n != 1 {
		t.Errorf("a reader beside the writer sees %d objects, want 1", n)
	}
	_, err = reader.Create(t.Context(), CreateRequest{Kind: KindNetwork, Location: "local", Name: "m", Body: encode(&Network{})})
	wantFault(t, err, AccessDenied, "a reader does not write")
	closeCloud(t, c)
	closeCloud(t, kept(t, dir, nil)) // the lock is free again
}

func TestAReaderNeedsNoDirectory(t *testing.T) {
	c := kept(t, filepath.Join(t.TempDir(), "none"), func(o *Options) { o.ReadOnly = true })
	if n := len(c.Dump()); n != 0 {
		t.Errorf("there are %d objects", n)
	}
}

func TestDamagedState(t *testing.T) {
	appended := func(text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			edit(t, dir, journalName, func(b []byte) []byte { return append(b, text...) })
		}
	}
	tests := []struct {
		name, why string
		damage    func(t *testing.T, dir string)
		says      string // "" when it must load
	}{
		{"cut-off last line", "a process died while it wrote: nobody was told of that write", appended(`0badc0de {"seq":5,"pu`), ""},
		{"zeros at the end", "the machine died: the length was written, the data was not", appended("\x00\x00\x00\x00"), ""},
		{"flipped bit", "the disk is bad, or somebody edited", func(t *testing.T, dir string) {
			edit(t, dir, journalName, func(b []byte) []byte { return bytes.Replace(b, []byte("10.0.0.0"), []byte("10.0.0.1"), 1) })
		}, "journal, line 2: the line is damaged"},
		{"foreign file", "it is not ours to overwrite", func(t *testing.T, dir string) {
			edit(t, dir, journalName, func([]byte) []byte { return []byte("hello\n") })
		}, "journal, line 1"},
		{"empty journal", "journals are never empty: the header is written first", func(t *testing.T, dir string) {
			edit(t, dir, journalName, func([]byte) []byte { return nil })
		}, "cut short"},
		{"newer format", "a newer program wrote it", func(t *testing.T, dir string) {
			edit(t, dir, journalName, func([]byte) []byte { return encodeLine(header{Format: format, Version: 2}) })
		}, "version 2"},
		{"missing snapshot", "the journal goes on where the snapshot ends", func(t *testing.T, dir string) {
			compacted(t, dir)
			remove(t, dir, snapshotName)
		}, "records are missing"},
		{"short snapshot", "it was complete when it got its name", func(t *testing.T, dir string) {
			compacted(t, dir)
			edit(t, dir, snapshotName, func(b []byte) []byte { return b[:len(b)-10] })
		}, "cut short"},
		{"unknown field", "what this program does not know it must not drop", func(t *testing.T, dir string) {
			edit(t, dir, journalName, func(b []byte) []byte {
				return append(b, encodeLine(map[string]any{"seq": 3, "put": map[string]any{"colour": "red"}})...)
			})
		}, "colour"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			c := kept(t, dir, nil)
			mustCreate(t, c, KindNetwork, "one", &Network{CIDR: "10.0.0.0/8"})
			mustCreate(t, c, KindNetwork, "two", &Network{})
			closeCloud(t, c)
			tc.damage(t, dir)
			c, err := New(Options{StateDir: dir})
			if tc.says == "" {
				if err != nil || len(c.Dump()) != 2 {
					t.Fatalf("%s, but: %v", tc.why, err)
				}
				mustCreate(t, c, KindNetwork, "three", &Network{})
				closeCloud(t, c)
				closeCloud(t, kept(t, dir, nil)) // and what follows can be read again
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "remove the directory "+dir) {
				t.Errorf("error %v, want %q and the way out: %s", err, tc.says, tc.why)
			}
			if _, err := New(Options{StateDir: dir}); err == nil || strings.Contains(err.Error(), "in use") {
				t.Errorf("the second try gives %v: the lock was kept", err)
			}
		})
	}
}

func edit(t *testing.T, dir, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// compacted makes the directory have a snapshot.
func compacted(t *testing.T, dir string) {
	t.Helper()
	c := kept(t, dir, func(o *Options) { o.CompactAfter = 1 })
	churn(t, c)
	closeCloud(t, c)
	if _, err := os.Stat(filepath.Join(dir, snapshotName)); err != nil {
		t.Fatal("nothing was compacted")
	}
}

// churn writes one object many times.
func churn(t *testing.T, c *Cloud) {
	t.Helper()
	network := mustCreate(t, c, KindNetwork, "churn", &Network{})
	for i := range int32(100) {
		mustUpdate(t, c, network, &Network{IdleSeconds: i + 1})
	}
}

// brokenFile is a journal on a disk that fails.
type brokenFile struct {
	file
	room     int  // bytes that still fit
	syncs    bool // flushes work
	truncate bool // so does cutting off
}

func (f *brokenFile) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		return f.file.Write(p)
	}
	n, err := f.file.Write(p[:f.room])
	return n, errors.Join(syscall.ENOSPC, err)
}

func (f *brokenFile) Sync() error {
	if !f.syncs {
		return syscall.EIO
	}
	return f.file.Sync()
}

func (f *brokenFile) Truncate(size int64) error {
	if !f.truncate {
		return syscall.EIO
	}
	return f.file.Truncate(size)
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, nil)
	mustCreate(t, c, KindNetwork, "one", &Network{})
	good := c.disk.journal
	c.disk.journal = &brokenFile{file: good, room: 30, syncs: true, truncate: true}
	_, err := c.Create(t.Context(), CreateRequest{Kind: KindNetwork, Location: "local", Name: "two", Body: encode(&Network{})})
	wantFault(t, err, ServiceDown, "the disk is full")
	if lbmodel.CodeOf(located("Create", lbmodel.ID{}, err)) != lbmodel.CodeUnavailable || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error is %v", err)
	}
	if n := len(c.Dump()); n != 1 {
		t.Errorf("%d objects after a write that failed, want 1", n)
	}
	c.disk.journal = good // there is room again
	mustCreate(t, c, KindNetwork, "two", &Network{})
	want := dumpText(c)
	closeCloud(t, c)
	if diff := cmp.Diff(want, dumpText(kept(t, dir, nil))); diff != "" {
		t.Errorf("the half-written line was left in the journal\n%s", diff)
	}
}

func TestDiskThatCannotBeTrusted(t *testing.T) {
	tests := []struct {
		name, why string
		file      brokenFile
	}{
		{"flush fails", "what the kernel dropped is not written by a second flush", brokenFile{room: 1 << 20, truncate: true}},
		{"half a line stays", "everything after it would be lost", brokenFile{room: 10, syncs: true}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := kept(t, t.TempDir(), nil)
			good := c.disk.journal
			tc.file.file = good
			c.disk.journal = &tc.file
			for _, name := range []string{"one", "two"} {
				_, err := c.Create(t.Context(), CreateRequest{Kind: KindNetwork, Location: "local", Name: name, Body: encode(&Network{})})
				wantFault(t, err, ServiceDown, tc.why)
				c.disk.journal = good // too late: the journal stays closed
			}
		})
	}
}

func TestCompactionThatFailsLosesNothing(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, func(o *Options) { o.CompactAfter = 4 })
	if err := os.Mkdir(filepath.Join(dir, snapshotName+".new"), 0o700); err != nil { // no file can be made there
		t.Fatal(err)
	}
	churn(t, c)
	want := dumpText(c)
	closeCloud(t, c)
	if diff := cmp.Diff(want, dumpText(kept(t, dir, nil))); diff != "" {
		t.Error(diff)
	}
}

// Why: when the new journal has taken the old one's name and that may not last, a
// write to either could be gone after a restart. None may be confirmed.
func TestCompactionThatWentHalfWay(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, func(o *Options) { o.CompactAfter = 4 })
	flushes := 0
	c.disk.settle = func(dir string) error {
		if flushes++; flushes == 2 { // the snapshot's is the first
			return syscall.EIO
		}
		return syncDir(dir)
	}
	network := mustCreate(t, c, KindNetwork, "churn", &Network{})
	var confirmed int32
	var err error
	for i := int32(1); i <= 20 && err == nil; i++ {
		if _, err = c.Update(t.Context(), UpdateRequest{Handle: network.Handle, Body: encode(&Network{IdleSeconds: i})}); err == nil {
			confirmed = i
		}
	}
	wantFault(t, err, ServiceDown, "nobody knows which journal counts")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	var found Network
	if err := json.Unmarshal(kept(t, dir, nil).Dump()[0].Body, &found); err != nil || found.IdleSeconds < confirmed {
		t.Errorf("after a restart there is %+v, %v, though %d was confirmed", found, err, confirmed)
	}
}

func TestJournalStaysSmall(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, func(o *Options) { o.CompactAfter = 16 })
	churn(t, c)
	if c.disk.records > 16 {
		t.Errorf("100 updates of one object left %d records", c.disk.records)
	}
}

func TestClosedCloudRefuses(t *testing.T) {
	c := newCloud(t, nil)
	closeCloud(t, c)
	_, err := c.List(t.Context(), ListRequest{})
	wantFault(t, err, ServiceDown, "it was closed")
}

// Why: a process may die after any byte that it writes.
func TestJournalCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, nil)
	states := []string{dumpText(c)}
	for i := range int32(3) {
		network := mustCreate(t, c, KindNetwork, "n"+strconv.Itoa(int(i)), &Network{})
		states = append(states, dumpText(c))
		mustUpdate(t, c, network, &Network{IdleSeconds: 1})
		states = append(states, dumpText(c))
	}
	closeCloud(t, c)
	whole, err := os.ReadFile(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	head := bytes.IndexByte(whole, '\n') + 1
	for cut := head; cut <= len(whole); cut++ {
		edit(t, dir, journalName, func([]byte) []byte { return whole[:cut] })
		c, err := New(Options{StateDir: dir, ReadOnly: true})
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", cut, err)
		}
		lines := bytes.Count(whole[:cut], []byte("\n")) - 1
		if diff := cmp.Diff(states[lines], dumpText(c)); diff != "" {
			t.Fatalf("cut after %d bytes, %d whole records:\n%s", cut, lines, diff)
		}
	}
}

// Why: between the new snapshot and the new journal the process may die. Then the
// snapshot stands beside a journal whose records it has already.
func TestDeathInACompaction(t *testing.T) {
	dir := t.TempDir()
	c := kept(t, dir, nil)
	churn(t, c)
	want := dumpText(c)
	if err := c.disk.writeSnapshot(&c.state); err != nil { // and no startJournal
		t.Fatal(err)
	}
	closeCloud(t, c)
	c = kept(t, dir, nil)
	if diff := cmp.Diff(want, dumpText(c)); diff != "" {
		t.Error(diff)
	}
	mustCreate(t, c, KindNetwork, "more", &Network{})
	want = dumpText(c)
	closeCloud(t, c)
	if diff := cmp.Diff(want, dumpText(kept(t, dir, nil))); diff != "" {
		t.Error(diff)
	}
}

func TestUnsoundStateIsRefused(t *testing.T) {
	tests := []struct {
		name, why, says string
		object          object
	}{
		{"dangling reference", "what is served is followed along references", "not there",
			object{Kind: KindBalancer, Raw: encode(&Balancer{Network: "fake/local/Network/9"})}},
		{"wrong fields", "the service would have refused it", "idleSeconds is -1",
			object{Kind: KindNetwork, Raw: encode(&Network{IdleSeconds: -1})}},
		{"no such kind", "a newer program wrote it", "Teapot", object{Kind: "Teapot", Raw: []byte("{}")}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			closeCloud(t, kept(t, dir, nil))
			tc.object.Seq, tc.object.Location, tc.object.Name = 1, "local", "x"
			edit(t, dir, journalName, func(b []byte) []byte { return append(b, encodeLine(record{Seq: 1, Put: &tc.object})...) })
			_, err := New(Options{StateDir: dir})
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "remove the directory") {
				t.Errorf("error %v, want %q and the way out: %s", err, tc.says, tc.why)
			}
		})
	}
}

// FuzzLoad: whatever is in the files, they are loaded or refused.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("hello\n"), []byte(""))
	f.Add(encodeLine(header{Format: format, Version: 1, Objects: 1, Next: 2}), encodeLine(header{Format: format, Version: 1}))
	f.Add(encodeLine(header{Format: format, Version: 1}), encodeLine(header{Format: format, Version: 1, Seq: 7}))
	f.Fuzz(func(t *testing.T, snapshot, journal []byte) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{snapshotName: snapshot, journalName: journal} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := New(Options{StateDir: dir, ReadOnly: true}); err == nil {
			c.Serving()
		}
	})
}
