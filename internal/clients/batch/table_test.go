package batch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	unicodetext "golang.org/x/text/encoding/unicode"

	"syncd/internal/clients/wire"
)

// rowsOf reads a table: each row as JSON, or its error.
func rowsOf(r io.Reader, f format) (rows []string, err error) {
	t, _, _, err := newTable(r, f, 0)
	if err != nil {
		return nil, err
	}
	for {
		r, err := t.next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return rows, err
		case r.err != nil:
			rows = append(rows, r.err.Error())
		default:
			rows = append(rows, string(wire.JSON(r.members)))
		}
	}
}

func utf16(text string, endian unicodetext.Endianness) string {
	encoded, err := unicodetext.UTF16(endian, unicodetext.UseBOM).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return encoded
}

func TestHostileTables(t *testing.T) {
	plain := []string{`{"a1":"12 Larkspur","city":"Elmstead"}`}
	tests := map[string]struct {
		text   string
		format format
		rows   []string
		err    string
	}{
		"plain":                    {"a1,city\n12 Larkspur,Elmstead\n", separated, plain, ""},
		"no newline at the end":    {"a1,city\n12 Larkspur,Elmstead", separated, plain, ""},
		"byte order mark":          {"\ufeffa1,city\n12 Larkspur,Elmstead\n", separated, plain, ""},
		"UTF-16, little endian":    {utf16("a1\tcity\r\n12 Larkspur\tElmstead\r\n", unicodetext.LittleEndian), separated, plain, ""},
		"UTF-16, big endian":       {utf16("a1,city\n12 Larkspur,Elmstead\n", unicodetext.BigEndian), separated, plain, ""},
		"CRLF and empty lines":     {"a1,city\r\n\r\n12 Larkspur,Elmstead\r\n\r\n", separated, plain, ""},
		"semicolons":               {"a1;city\n12 Larkspur;Elmstead\n", separated, plain, ""},
		"semicolon inside quotes":  {"\"a;b;c\",city\nx,y\n", separated, []string{`{"a;b;c":"x","city":"y"}`}, ""},
		"space around names":       {" a1 ,city\n12 Larkspur,Elmstead\n", separated, plain, ""},
		"quotes and lines in cell": {"a1,city\n\"12 \"\"B\"\"\r\nLark, spur\",x\n", separated, []string{`{"a1":"12 \"B\"\nLark, spur","city":"x"}`}, ""},
		"formula":                  {"a1,city\n\"=HYPERLINK(\"\"x\"\")\",@SUM(A1)\n", separated, []string{`{"a1":"=HYPERLINK(\"x\")","city":"@SUM(A1)"}`}, ""},
		"ragged":                   {"a1,city\none\n1,2,3\n12 Larkspur,Elmstead\n", separated, []string{"line 2 has 1 cells, the header has 2", "line 3 has 3 cells, the header has 2", plain[0]}, ""},
		"stray quote":              {"a1,city\n12\" pipe,x\n12 Larkspur,Elmstead\n", separated, []string{"line 2, character 3: bare \" in non-quoted-field: put quotes around the cell, and double those inside", plain[0]}, ""},
		"quote that stays open":    {"a1,city\n\"12,x\ny,z\n", separated, nil, "a quote that opens in line 2 is not closed"},
		"quote that joins rows":    {"a1,city\n\"12,x\ny,\"z\n", separated, nil, "a quote that opens in line 2 is not closed as it should be in line 3"},
		"empty":                    {"", separated, nil, "is empty"},
		"only a mark":              {"\ufeff", separated, nil, "is empty"},
		"header alone":             {"a1,city\n", separated, nil, ""},
		"column twice":             {"a1,city,a1\n", separated, nil, "columns 1 and 3 are both called a1"},
		"columns without a name":   {"a1,,\n1,2,3\n", separated, []string{`{"a1":"1","":"2","":"3"}`}, ""},
		"NUL in the header":        {"a\x001\n", separated, nil, "the name of column 1 is not plain text"},
		"UTF-16 without a mark":    {"a\x001\x00\n\x00", separated, nil, "the name of column 1 is not plain text"},
		"Latin-1 header":           {"stra\xdfe\nx\n", separated, nil, "save the file as CSV in UTF-8"},
		"old Macintosh":            {"a1,city\rx,y\r", separated, nil, "the name of column 2 is not plain text"},
		"long row":                 {"a1\n\"" + strings.Repeat("x\n", maxRow) + "\"\n", separated, nil, "the row after line 1 has more than 1048576 bytes: is a quote not closed there?"},
		"lines of JSON":            {"{\"a1\":\"12\",\"n\":[1,{\"x\":null}]}\n\n  \n{\"a1\":7}", lines, []string{`{"a1":"12","n":[1,{"x":null}]}`, `{"a1":7}`}, ""},
		"JSON by its content":      {" {\"a1\":\"12\"}\n", unknown, []string{`{"a1":"12"}`}, ""},
		"CSV by its content":       {"a1\n{\n", unknown, []string{`{"a1":"{"}`}, ""},
		"JSON with a mark":         {"\ufeff{\"a1\":\"12\"}\n", lines, []string{`{"a1":"12"}`}, ""},
		"bad lines of JSON":        {"{\n[1]\n7\n{\"a\":1}{}\n{\"a\":\"\xff\"}\n{\"a\":1}\n", lines, []string{"line 1 is not one JSON object", "line 2 is not one JSON object", "line 3 is not one JSON object", "line 4 is not one JSON object", "line 5 is not UTF-8", `{"a":1}`}, ""},
		"deep JSON":                {strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100) + "\n", lines, []string{"line 1 is not one JSON object"}, ""},
		"long line of JSON":        {"{\"a\":1}\n{\"a\":\"" + strings.Repeat("x", maxRow) + "\"}\n", lines, []string{`{"a":1}`}, "line 2 has more than 1048576 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rows, err := rowsOf(strings.NewReader(test.text), test.format)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if got, want := fmt.Sprintf("%q", rows), fmt.Sprintf("%q", test.rows); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// same repeats one byte for ever, and counts what was read.
type same struct{ read int }

func (s *same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	s.read += len(p)
	return len(p), nil
}

// A line of any length is refused after a few MiB.
func TestALineWithoutAnEndIsBounded(t *testing.T) {
	for _, f := range []format{separated, lines, unknown} {
		for _, begin := range []string{"", "a1,city\n", "a1,city\n\"", "{\"a\":\""} {
			endless := &same{}
			_, err := rowsOf(io.MultiReader(strings.NewReader(begin), io.LimitReader(endless, 1<<30)), f)
			if err == nil || endless.read > 8*maxRow {
				t.Errorf("format %d, %q: %v after %d bytes", f, begin, err, endless.read)
			}
		}
	}
}

// Any file is read to its end or refused. Each row of CSV has the cells of the header.
func FuzzTable(f *testing.F) {
	for _, text := range []string{
		"a1,city\n12,x\n", "a1;b\r\n\"1\"\"\r\n2\";3\r\n", "\xff\xfea\x00\n\x001\x00", "\ufeff{\"a\":[1,{}]}\n", "a,,\n1\n1,2,3,4\n", "a\n\"x\ny\n", "a\tb\n\"x\"y\tz\n", "{\n7\n{}\n",
	} {
		f.Add([]byte(text), int(unknown))
		f.Add([]byte(text), int(separated))
		f.Add([]byte(text), int(lines))
	}
	f.Fuzz(func(t *testing.T, text []byte, form int) {
		table, _, comma, err := newTable(strings.NewReader(string(text)), format(min(max(form, 0), int(lines))), 0)
		for number := 0; err == nil; number++ {
			var r row
			if r, err = table.next(); err == nil && table.columns() != nil && len(r.members) != len(table.columns()) {
				t.Fatalf("row %d has %d cells of %d", number, len(r.members), len(table.columns()))
			}
			if number > len(text) {
				t.Fatal("more rows than bytes")
			}
		}
		if table != nil && err == nil && comma == 0 {
			t.Error("no separator")
		}
	})
}
