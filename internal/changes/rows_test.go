package changes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"syncd/internal/manifest"
)

func TestFilesAreComparedByTheirDigests(t *testing.T) {
	id := func(n byte) manifest.ObjectID { return manifest.ObjectID{n} }
	before := []File{{"same", 1, id(1)}, {"grown", 2, id(2)}, {"old/name", 3, id(3)}, {"gone", 4, id(4)}, {"twice", 5, id(5)}}
	after := []File{{"same", 1, id(1)}, {"grown", 9, id(9)}, {"new/name", 3, id(3)}, {"came", 6, id(6)}, {"twice", 5, id(5)}, {"copy", 5, id(5)}}
	all := Files(before, after)
	want := []Change{
		{Path: "came", Kind: Added, SizeAfter: 6},
		{Path: "copy", Kind: Added, SizeAfter: 5}, // a copy, whose original stayed
		{Path: "gone", Kind: Removed, SizeBefore: 4},
		{Path: "grown", Kind: Changed, SizeBefore: 2, SizeAfter: 9},
		{Path: "new/name", Was: "old/name", Kind: Moved, SizeBefore: 3, SizeAfter: 3},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("changes are\n%+v, want\n%+v", all, want)
	}
	s := Summarize(before, after, all)
	if s.Files != (FileCounts{Added: 2, Removed: 1, Changed: 1, Moved: 1}) || s.BytesBefore != 15 || s.BytesAfter != 29 || s.Rows != nil || !s.Any() {
		t.Errorf("summary is %+v", s)
	}
}

func TestRows(t *testing.T) {
	yes, no := true, false
	utf16le := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, c := range utf16.Encode([]rune(s)) {
			b = append(b, byte(c), byte(c>>8))
		}
		return string(b)
	}
	for _, row := range []struct {
		name                 string
		before, after        string
		rule                 Rule
		added, gone, changed int64
		columns              map[string]int64
		format               string
	}{
		{name: "order does not matter", before: "a,1\nb,2\nc,3\n", after: "c,3\na,1\nb,2\n"},
		{name: "rows count as often as they are there", before: "a,1\na,1\nb,2\n", after: "a,1\nb,2\nb,2\nb,2\n", added: 2, gone: 1},
		{name: "a byte order mark and line ends", before: "a,1\nb,2", after: "\xef\xbb\xbfa,1\r\nb,2\r\n\r\n"},
		{name: "line ends of old Macs", before: "a,1\nb,2\n", after: "a,1\rb,2\r"},
		{name: "quotes alone", before: "a,1\n\"b\",\"\"\n", after: "\"a\",\"1\"\nb,\n"},
		{name: "quotes of one column", before: "\"a\"\n\"b\"\n", after: "\"b\"\n\"c\"\n", added: 1, gone: 1},
		{name: "a quoted line end", before: "a,\"1\n2\"\nb,3\n", after: "b,3\na,\"1\r\n2\"\n"},
		{name: "a quoted delimiter is none", before: "a,\"1,2\"\nb,3\n", after: "a,1 2\nb,3\n", added: 1, gone: 1},
		{name: "another delimiter", before: "a,1\nb,\"x\"\"y\"\n", after: "a;1\nb;\"x\"\"y\"\n"},
		{name: "a key", before: "a,1,x\nb,2,x\nc,3,x\n", after: "d,4,x\nc,3,x\nb,2,y\n", rule: Rule{Key: []string{"1"}}, added: 1, gone: 1, changed: 1, columns: map[string]int64{"3": 1}},
		{name: "a key by name", before: "id,name\n1,x\n2,y\n", after: "id,name\n2,z\n1,x\n", rule: Rule{Key: []string{"id"}}, changed: 1, columns: map[string]int64{"name": 1}},
		{name: "a key of two columns", before: "a,1,x\na,2,x\n", after: "a,2,y\na,1,x\n", rule: Rule{Key: []string{"1", "2"}}, changed: 1, columns: map[string]int64{"3": 1}},
		{name: "one key, several rows", before: "k,1\nk,2\nk,3\n", after: "k,3\nk,9\n", rule: Rule{Key: []string{"1"}}, gone: 1, changed: 1, columns: map[string]int64{"2": 1}},
		{name: "rows without their key", before: "a,1,x\nb\nc\n", after: "a,1,y\nb\nd\n", rule: Rule{Key: []string{"2"}, Delimiter: ","}, added: 1, gone: 1, changed: 1, columns: map[string]int64{"3": 1}},
		{name: "more columns", before: "a,1\nb,2\n", after: "a,1\nb,2,3\n", rule: Rule{Key: []string{"1"}, Delimiter: ","}, changed: 1, columns: map[string]int64{"3": 1}},
		{name: "a header is no row", before: "id,n\n1,5\n", after: "id,n\n1,5\n2,6\n", rule: Rule{Header: &yes}, added: 1},
		{name: "no header", before: "id,n\n1,5\n", after: "id,n\n1,5\n2,6\n", rule: Rule{Header: &no}, added: 1},
		{name: "fixed width", before: "0001Smith Main \n0002Jones High \n", after: "0002Jones Hill \n0001Smith Main \n", rule: Rule{Fixed: []int{4, 6, 5}, Key: []string{"1"}}, changed: 1, columns: map[string]int64{"3": 1}, format: "fixed width"},
		{name: "JSON lines", before: "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n", after: "{\"a\": 2.0}\n{ \"b\":\"\\u0078\" , \"a\":1e0}\n", format: "JSON lines"},
		{name: "JSON lines with a key", before: "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n", after: "{\"b\":[1],\"a\":1,\"c\":null}\n{\"a\":2}\n", rule: Rule{Key: []string{"a"}}, changed: 1, columns: map[string]int64{"b": 1, "c": 1}},
		{name: "JSON lines of arrays", before: "[1,\"x\"]\n[2,\"y\"]\n", after: "[2,\"z\"]\n[1, \"x\"]\n", rule: Rule{Key: []string{"1"}}, changed: 1, columns: map[string]int64{"2": 1}, format: "JSON lines"},
		{name: "an array", before: "[{\"a\":1},{\"a\":2}]", after: "[\n  {\"a\": 2},\n  {\"a\": 3},\n  {\"a\": 1}\n]\n", added: 1, format: "JSON array"},
		{name: "an array of numbers and strings", before: "[1,\"x,]\",null]", after: "[null, \"x,]\", 1.0, true]", added: 1, format: "JSON array"},
		{name: "an array and lines", before: "[{\"a\":1},{\"a\":2}]", after: "{\"a\":1}\n{\"a\":3}\n", added: 1, gone: 1},
		{name: "an array cut off", before: "[{\"a\":1},{\"a\":2},{\"a\":3}]", after: "[{\"a\":1},{\"a\":", added: 1, gone: 2},
		{name: "an empty array", before: "[{\"a\":1}]", after: "[]", gone: 1},
		{name: "text with a bracket", before: "[section]\nkey=1\n", after: "[section]\nkey=2\n", added: 1, gone: 1, format: "lines"},
		{name: "an object on many lines", before: "{\n \"a\": 1\n}\n", after: "{\n \"a\": 2\n}\n", added: 1, gone: 1, format: "lines"},
		{name: "a line that is no JSON", before: "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", after: "{\"a\":1}\n{\"a\":2}\n{\"a\":\n", added: 1, gone: 1},
		{name: "a quote that nothing closes", before: "a,1\nb,2\nc,3\n", after: "a,1\nb,\"2\nc,3\n", added: 1, gone: 1},
		{name: "invalid UTF-8", before: "a,\xff\nb,2\n", after: "a,\xfe\nb,2\n", added: 1, gone: 1},
		{name: "UTF-16", before: "a,ä\nb,2\n", after: utf16le("a,ä\r\nb,3\r\n"), added: 1, gone: 1},
		{name: "an empty file", before: "a,1\nb,2\n", after: "", gone: 2},
		{name: "a file of blank lines", before: "\n\r\n\n", after: "a\n", added: 1},
		{name: "text", before: "one two\nthree\n", after: "three\nfour, five\n", added: 1, gone: 1, format: "lines"},
	} {
		for _, tables := range []int{0, 4} {
			got := compare(t, []byte(row.before), []byte(row.after), row.rule, tables)
			if got.Rows == nil {
				t.Errorf("%s: no rows: %+v", row.name, got)
				continue
			}
			r := *got.Rows
			if r.Added != row.added || r.Gone != row.gone || r.Changed != row.changed || !reflect.DeepEqual(r.Columns, row.columns) || got.Note != "" {
				t.Errorf("%s: %+v %s, want %d added, %d gone, %d changed, columns %v", row.name, r, got.Note, row.added, row.gone, row.changed, row.columns)
			}
			if row.format != "" && r.Format != row.format {
				t.Errorf("%s: read as %s, want %s", row.name, r.Format, row.format)
			}
			if r.After-r.Before != r.Added-r.Gone {
				t.Errorf("%s: %d rows became %d, with %d added and %d gone", row.name, r.Before, r.After, r.Added, r.Gone)
			}
		}
	}
}

func TestBinaryFilesAreToldBySize(t *testing.T) {
	for name, pair := range map[string][2]string{
		"both":       {"\x7fELF\x00\x01", "\x7fELF\x00\x02"},
		"the new":    {"a,1\n", "a\x00\n"},
		"UTF-16 raw": {"a\x00,\x00", "b\x00,\x00"},
	} {
		if got := compare(t, []byte(pair[0]), []byte(pair[1]), Rule{}, 0); !got.Binary || got.Rows != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := compare(t, []byte("a\n"), []byte(strings.Repeat("a\n", sniffed)+"\x00\n"), Rule{}, 0); got.Binary || got.Rows.Added != sniffed {
		t.Errorf("text with a late NUL: %+v", got.Rows)
	}
}

func TestAKeyThatNoHeaderNames(t *testing.T) {
	got := compare(t, []byte("id,n\n1,5\n2,6\n"), []byte("id,n\n1,5\n2,7\n"), Rule{Key: []string{"code"}}, 0)
	if got.Note != "no column code: compared without a key" || got.Rows.Added != 1 || got.Rows.Gone != 1 {
		t.Errorf("%+v, %q", got.Rows, got.Note)
	}
	got = compare(t, []byte("id,n\n1,5\n2,6\n"), []byte("key,n\n1,5\n2,6\n"), Rule{}, 0)
	if !got.Rows.HeaderChanged || got.Rows.Added+got.Rows.Gone != 0 {
		t.Errorf("another header: %+v", got.Rows)
	}
}

func TestSamplesAreTheFirstTenRows(t *testing.T) {
	var before, after strings.Builder
	for i := range 50 {
		fmt.Fprintf(&before, "%d,old%d\n", i, i)
		fmt.Fprintf(&after, "%d,new%d\n", i+20, i+20)
	}
	long := strings.Repeat("x", 2000)
	fmt.Fprintf(&after, "100,%s\n", long)
	for _, tables := range []int{0, 4} {
		got := compare(t, []byte(before.String()), []byte(after.String()), Rule{Key: []string{"1"}}, tables).Rows
		s := got.Samples
		if len(s.Gone) != 10 || s.Gone[0] != "0,old0" || s.Gone[9] != "9,old9" || len(s.Added) != 10 || s.Added[0] != "50,new50" {
			t.Errorf("samples: %+v", s)
		}
		if want := (ChangedSample{Before: "20,old20", After: "20,new20", Columns: []string{"2"}}); len(s.Changed) != 10 || !reflect.DeepEqual(s.Changed[0], want) {
			t.Errorf("changed samples: %+v", s.Changed)
		}
	}
	got := compare(t, []byte("a\n"), []byte(long+"\n\xff\n"), Rule{}, 0).Rows.Samples
	if !slices.Equal(got.Added, []string{long[:1000] + "…", "\ufffd"}) {
		t.Errorf("samples: %q", got.Added)
	}
}

// TestRowsThatManyRowsShareAKeyWith puts more rows under one key than memory may hold.
func TestRowsThatManyRowsShareAKeyWith(t *testing.T) {
	const rows = 5000
	write := func(from int) []byte {
		b := make([]byte, 0, 12*rows)
		for i := range rows {
			b = append(b, "k,"...)
			b = append(strconv.AppendInt(b, int64(from+i), 10), '\n')
		}
		return b
	}
	got := compare(t, append(write(0), "k,more\nother,1\n"...), append(write(rows), "other,2\n"...), Rule{Key: []string{"1"}}, 64)
	if got.Rows.Added != 0 || got.Rows.Gone != 1 || got.Rows.Changed != rows+1 || got.Note == "" {
		t.Errorf("%+v %q", got.Rows, got.Note)
	}
	if got.Rows.Columns["2"] != 1 {
		t.Errorf("columns: %v", got.Rows.Columns)
	}
}

// endless is a file of one byte, again and again, with a line end at some places.
type endless struct {
	size int64
	eols []int64
}

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	n := min(int64(len(p)), e.size-at)
	for i := range p[:n] {
		p[i] = 'x'
	}
	for _, eol := range e.eols {
		if eol >= at && eol < at+n {
			p[eol-at] = '\n'
		}
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// TestARowOfAGibibyte reads rows without a line end within bounded memory.
func TestARowOfAGibibyte(t *testing.T) {
	size := int64(64 << 20)
	if os.Getenv("SYNCD_TORTURE") == "full" {
		size = 1 << 30
	}
	half := size / 2
	a := endless{size: size, eols: []int64{10, half}}
	b := endless{size: size, eols: []int64{half - 11, size - 11}} // the same rows in another order
	change := Change{Path: "file"}
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	if err := (Comparison{}).pair(context.Background(), [2]content{{a, size}, {b, size}}, &change); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&end)
	if allocated := end.TotalAlloc - start.TotalAlloc; allocated > 100<<20 {
		t.Errorf("the comparison allocated %d bytes", allocated)
	}
	if change.Rows.Before != 3 || change.Rows.After != 3 || change.Rows.Added != 0 || change.Rows.Gone != 0 {
		t.Errorf("%+v", change.Rows)
	}
}

// TestAComparisonEndsWhenItIsCancelled covers the shutdown of a daemon.
func TestAComparisonEndsWhenItIsCancelled(t *testing.T) {
	stop := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	var text bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&text, "%d\n", i)
	}
	files := [2]content{{bytes.NewReader(text.Bytes()), int64(text.Len())}, {bytes.NewReader(text.Bytes()[10:]), int64(text.Len() - 10)}}
	if err := (Comparison{}).pair(ctx, files, &Change{}); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
}

func TestAHundredThousandColumns(t *testing.T) {
	row := func(changed int) string {
		var b strings.Builder
		for i := range 100000 {
			if i == changed {
				b.WriteString("other")
			}
			b.WriteString(strconv.Itoa(i % 10))
			b.WriteByte(",\n"[i/99999])
		}
		return b.String()
	}
	got := compare(t, []byte("1,2\n"+row(-1)), []byte(row(77777)+"1,2\n"), Rule{Key: []string{"1"}, Delimiter: ","}, 0)
	if got.Rows.Changed != 1 || got.Rows.Columns["77778"] != 1 || len(got.Rows.Columns) != 1 {
		t.Errorf("%+v", got.Rows)
	}
}

// A publisher chooses how many columns change, and what the header calls them.
func TestTheNamesOfManyChangedColumnsAreBounded(t *testing.T) {
	const columns = 50000
	file := func(value string) []byte {
		var header, row strings.Builder
		for i := range columns {
			header.WriteString("c" + strconv.Itoa(i) + ",")
			row.WriteString(value + ",")
		}
		return []byte("id,same,same," + header.String() + "\n1,a,b," + row.String() + "\n")
	}
	header := true
	got := compare(t, file("x"), file("y"), Rule{Key: []string{"id"}, Delimiter: ",", Header: &header}, 10)
	if n := len(got.Rows.Columns); n != maxMembers+1 || got.Rows.Columns["c0"] != 1 || got.Rows.Columns[otherMembers] != columns-maxMembers {
		t.Errorf("%d columns, others %d", n, got.Rows.Columns[otherMembers])
	}
	if n := len(got.Rows.Samples.Changed[0].Columns); n != maxChanged+1 {
		t.Errorf("%d columns in a sample", n)
	}
	if names := namesOf([]string{"id", "same", "same", "c"}); !slices.Equal(names, []string{"id", "same", "", "c"}) {
		t.Errorf("%q", names)
	}
}

// count is the plain way to compare rows: all of them in one map.
func count(t *testing.T, before, after []byte) (added, gone int64) {
	t.Helper()
	var rule Rule
	texts := [2][]byte{before, after}
	var heads [2][]byte
	var ends [2]bool
	for side, text := range texts {
		heads[side], ends[side] = text[:min(len(text), sniffed)], len(text) <= sniffed
	}
	formats := decide(rule, heads, ends)
	seed := newSeeds()
	left := map[sum]int64{}
	for side, text := range texts {
		r := newReader(content{bytes.NewReader(text), int64(len(text))}, formats[side])
		v := newValues(formats[side], formats[1], nil, nil, seed)
		for n := 0; ; n++ {
			row, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				break
			}
			if n > 0 || !formats[side].header {
				value, _ := v.of(row)
				left[value] += signs[side]
			}
		}
	}
	for _, n := range left {
		added, gone = added+max(-n, 0), gone+max(n, 0)
	}
	return added, gone
}

func FuzzRows(f *testing.F) {
	f.Add([]byte("a,1\nb,2\n"), []byte("b,2\nc,\"3\n4\"\n"))
	f.Add([]byte("[{\"a\":1},{\"a\":2}]"), []byte("[{\"a\":2.0}, 5]"))
	f.Add([]byte("{\"a\":1}\n{\"b\":1}\n"), []byte("{\"a\":1}\n\xff\n"))
	f.Add([]byte("id\tn\n1\t2\n"), []byte("id\tn\r\n\"1\t2\r\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if isBinary(before[:min(len(before), sniffed)]) || isBinary(after[:min(len(after), sniffed)]) || utf16Order(before) != nil || utf16Order(after) != nil {
			return
		}
		added, gone := count(t, before, after)
		for _, tables := range []int{0, 4} {
			got := compare(t, before, after, Rule{}, tables).Rows
			if got.Added != added || got.Gone != gone || got.After-got.Before != added-gone {
				t.Errorf("%d tables: %+v, want %d added, %d gone", tables, got, added, gone)
			}
			for _, key := range []string{"1", "a"} {
				keyed := compare(t, before, after, Rule{Key: []string{key}}, tables).Rows
				if keyed.Added+keyed.Changed != added || keyed.Gone+keyed.Changed != gone {
					t.Errorf("key %s: %+v, want %d added, %d gone", key, keyed, added, gone)
				}
			}
		}
		if same := compare(t, after, after, Rule{Key: []string{"1"}}, 4).Rows; same.Added+same.Gone+same.Changed != 0 {
			t.Errorf("a file differs from itself: %+v", same)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"b":[1,2.50,-0],"a":"\ud83d\ude00\ud800x\/"}`, `[]`, `1e400`, `"\u0022\u005c"`, `{"a":1,"a":2}`, ` null `} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var j jsonText
		once, ok := j.canonical(nil, text)
		if !ok {
			return
		}
		// The canonical form need not be JSON, but writing it again changes nothing.
		twice, ok := j.canonical(nil, once)
		if !ok || !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q and %q", text, once, twice)
		}
		for _, one := range membersOf(nil, once) {
			if _, ok := j.canonical(nil, one.value(once)); !ok {
				t.Errorf("%q has the member %q", once, one.value(once))
			}
		}
	})
}

// BenchmarkRows reads two files whose rows are in the same order, and in another one.
func BenchmarkRows(b *testing.B) {
	for _, name := range []string{"same order", "shuffled", "shuffled with a key", "all changed with a key"} {
		b.Run(name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var before [][]byte
			for i := range 2_000_000 {
				before = append(before, fmt.Appendf(nil, "%09d,%d Main Street,Springfield,%05d,%s\n", i, rng.IntN(9999), rng.IntN(99999), "some more text of this row, up to a length"))
			}
			after := slices.Clone(before)
			for i := range after {
				if i%1000 == 0 {
					after[i] = fmt.Appendf(nil, "%09d,moved away,,,\n", i)
				}
				if strings.HasPrefix(name, "all changed") {
					after[i] = bytes.Replace(after[i], []byte("more"), []byte("less"), 1)
				}
			}
			if strings.HasPrefix(name, "shuffled") {
				rng.Shuffle(len(after), func(i, j int) { after[i], after[j] = after[j], after[i] })
			}
			x, y := bytes.Join(before, nil), bytes.Join(after, nil)
			var rule Rule
			if strings.HasSuffix(name, "key") {
				rule.Key = []string{"1"}
			}
			b.SetBytes(int64(len(x) + len(y)))
			b.ResetTimer()
			for b.Loop() {
				compare(b, x, y, rule, 0)
			}
		})
	}
}
