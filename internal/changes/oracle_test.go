package changes

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generated is a pair of tables with what was done to the second one.
type generated struct {
	before, after [][]string // the first column is the key
}

// generate makes two tables. Keys of repeated tables occur several times.
func generate(rng *rand.Rand, rows int, repeated bool) generated {
	var g generated
	words := []string{"", "Main St", "O'Brien", "a,b", "tab\there", "pipe|d", "semi;colon", `say "hi"`, "zwölf", "two\nlines", " padded ", "0012", "12.50", "null", "{", "]"}
	value := func() string {
		if rng.IntN(3) == 0 {
			return strconv.Itoa(rng.IntN(1000))
		}
		return words[rng.IntN(len(words))]
	}
	make1 := func(key int) []string {
		if repeated {
			key %= rows / 3
		}
		return []string{"k" + strconv.Itoa(key), value(), value(), "name" + strconv.Itoa(rng.IntN(5))}
	}
	for i := range rows {
		g.before = append(g.before, make1(i))
	}
	for i, row := range g.before {
		switch rng.IntN(12) {
		case 0: // gone
		case 1:
			changed := slices.Clone(row)
			changed[1+rng.IntN(3)] = value()
			g.after = append(g.after, changed)
		case 2:
			g.after = append(g.after, row, make1(rows+i))
		case 3:
			g.after = append(g.after, row)
			if repeated {
				g.after = append(g.after, row)
			}
		default:
			g.after = append(g.after, row)
		}
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(g.after), func(i, j int) { g.after[i], g.after[j] = g.after[j], g.after[i] })
	}
	return g
}

// notation writes a table in one format.
type notation struct {
	name  string
	rule  Rule
	clean bool // fields hold no line ends
	write func(rng *rand.Rand, table [][]string) []byte
}

func notations() []notation {
	yes := true
	var all []notation
	for name, delimiter := range map[string]rune{"comma": ',', "tab": '\t', "pipe": '|', "semicolon": ';'} {
		all = append(all, notation{name: name, rule: Rule{Header: &yes}, write: func(rng *rand.Rand, table [][]string) []byte {
			return writeDelimited(rng, delimiter, table)
		}})
	}
	all = append(all,
		notation{name: "fixed", rule: Rule{Fixed: []int{12, 12, 12, 12}}, clean: true, write: func(_ *rand.Rand, table [][]string) []byte {
			var b bytes.Buffer
			for _, row := range table {
				fmt.Fprintf(&b, "%s\r\n", bytes.Join([][]byte{pad(row[0], 12), pad(row[1], 12), pad(row[2], 12), pad(row[3], 12)}, nil))
			}
			return b.Bytes()
		}},
		notation{name: "json lines", write: func(rng *rand.Rand, table [][]string) []byte {
			var b bytes.Buffer
			for _, row := range table {
				b.Write(object(rng, row))
				b.WriteByte('\n')
			}
			return b.Bytes()
		}},
		notation{name: "json array", write: func(rng *rand.Rand, table [][]string) []byte {
			var b bytes.Buffer
			b.WriteString("[")
			for i, row := range table {
				if i > 0 {
					b.WriteString([]string{",", " ,\n", ",\r\n  "}[rng.IntN(3)])
				}
				b.Write(object(rng, row))
			}
			b.WriteString("]\n")
			return b.Bytes()
		}})
	slices.SortFunc(all, func(a, b notation) int { return cmp.Compare(a.name, b.name) })
	return all
}

func pad(s string, width int) []byte {
	return append([]byte(s), bytes.Repeat([]byte(" "), width-len(s))...)
}

// writeDelimited quotes some fields without need.
func writeDelimited(rng *rand.Rand, delimiter rune, table [][]string) []byte {
	var b bytes.Buffer
	if rng.IntN(2) == 0 {
		b.Write(bom)
	}
	eol := []string{"\n", "\r\n"}[rng.IntN(2)]
	for _, row := range append([][]string{{"id", "first", "second", "third"}}, table...) {
		for i, field := range row {
			if i > 0 {
				b.WriteRune(delimiter)
			}
			if rng.IntN(4) == 0 || strings.ContainsAny(field, "\"\n"+string(delimiter)) {
				field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
			}
			b.WriteString(field)
		}
		b.WriteString(eol)
	}
	return b.Bytes()
}

// object writes members in any order, with white space and escapes.
func object(rng *rand.Rand, row []string) []byte {
	names := []string{"id", "first", "second", "third"}
	b := []byte{'{'}
	for i, n := range rng.Perm(4) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, strings.Repeat(" ", rng.IntN(2))...)
		b = strconv.AppendQuote(b, names[n])
		b = append(b, ':')
		if rng.IntN(2) == 0 {
			b = append(b, ' ')
			b = strconv.AppendQuoteToASCII(b, row[n])
		} else {
			text, _ := json.Marshal(row[n])
			b = append(b, text...)
		}
	}
	return append(b, '}')
}

// answer is the answer of the engine of SQL.
type answer struct{ added, gone, keyedAdded, keyedGone, changed, first, second, third int64 }

// query compares the tables a and b of one pair. Rows are paired by key and, for keys that
// occur several times, in the order of the files after equal rows have cancelled.
const query = `
WITH
 na AS (SELECT *, row_number() OVER (PARTITION BY k,f,s,t ORDER BY n) AS i FROM a),
 nb AS (SELECT *, row_number() OVER (PARTITION BY k,f,s,t ORDER BY n) AS i FROM b),
 ca AS (SELECT k,f,s,t,count(*) AS c FROM a GROUP BY 1,2,3,4),
 cb AS (SELECT k,f,s,t,count(*) AS c FROM b GROUP BY 1,2,3,4),
 la AS (SELECT ca.k,ca.f,ca.s,ca.t, ca.c - coalesce(cb.c,0) AS c FROM ca LEFT JOIN cb USING (k,f,s,t) WHERE ca.c > coalesce(cb.c,0)),
 lb AS (SELECT cb.k,cb.f,cb.s,cb.t, cb.c - coalesce(ca.c,0) AS c FROM cb LEFT JOIN ca USING (k,f,s,t) WHERE cb.c > coalesce(ca.c,0)),
 ka AS (SELECT k, sum(c) AS c FROM la GROUP BY k),
 kb AS (SELECT k, sum(c) AS c FROM lb GROUP BY k)
SELECT
 (SELECT coalesce(sum(c),0) FROM lb), (SELECT coalesce(sum(c),0) FROM la),
 (SELECT coalesce(sum(max(kb.c - coalesce(ka.c,0), 0)),0) FROM kb LEFT JOIN ka USING (k)),
 (SELECT coalesce(sum(max(ka.c - coalesce(kb.c,0), 0)),0) FROM ka LEFT JOIN kb USING (k)),
 (SELECT coalesce(sum(min(ka.c, kb.c)),0) FROM ka JOIN kb USING (k)),
 (SELECT count(*) FROM a JOIN b USING (k) WHERE a.f<>b.f),
 (SELECT count(*) FROM a JOIN b USING (k) WHERE a.s<>b.s),
 (SELECT count(*) FROM a JOIN b USING (k) WHERE a.t<>b.t);
`

// ask lets sqlite compare many pairs. It reads the values themselves and no file.
func ask(t *testing.T, pairs []generated) []answer {
	t.Helper()
	var script bytes.Buffer
	script.WriteString(".mode csv\n")
	for _, pair := range pairs {
		script.WriteString("DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b;\nBEGIN;\n")
		for name, table := range map[string][][]string{"a": pair.before, "b": pair.after} {
			fmt.Fprintf(&script, "CREATE TABLE %s (n INTEGER, k TEXT, f TEXT, s TEXT, t TEXT);\n", name)
			for n, row := range table {
				fmt.Fprintf(&script, "INSERT INTO %s VALUES (%d", name, n)
				for _, value := range row {
					fmt.Fprintf(&script, ",'%s'", strings.ReplaceAll(value, "'", "''"))
				}
				script.WriteString(");\n")
			}
		}
		script.WriteString("COMMIT;\n" + query)
	}
	cmd := exec.Command("sqlite3", "-batch", "-bail", ":memory:")
	cmd.Stdin = &script
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sqlite3: %v", err)
	}
	records, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(records) != len(pairs) {
		t.Fatalf("sqlite3 answers %d lines, %v: %.200s", len(records), err, out)
	}
	var all []answer
	for _, record := range records {
		var n [8]int64
		for i, text := range record {
			if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, answer{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]})
	}
	return all
}

// TestRowsEqualTheAnswerOfSQL compares 20 generated pairs of each format with sqlite:
// without a key, with one, and with a key that several rows share.
func TestRowsEqualTheAnswerOfSQL(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: run .ci/parts", err)
		}
		t.Skip("SKIPPED: sqlite3 is not installed: run .ci/parts to compare rows with an SQL engine")
	}
	for _, format := range notations() {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(7, uint64(len(format.name))))
			var pairs []generated
			for i := range 20 {
				g := generate(rng, 30+rng.IntN(800), i%4 == 3)
				if format.clean {
					for _, table := range [][][]string{g.before, g.after} {
						for _, row := range table {
							for i := range row {
								row[i] = strings.ReplaceAll(row[i], "\n", " ")
							}
						}
					}
				}
				pairs = append(pairs, g)
			}
			for i, want := range ask(t, pairs) {
				before, after := format.write(rng, pairs[i].before), format.write(rng, pairs[i].after)
				tables := []int{0, 16, 64}[i%3] // small tables send rows through the scratch file
				equal(t, i, compare(t, before, after, format.rule, tables), want.added, want.gone, 0)
				rule := format.rule
				if rule.Key = []string{"1"}; strings.HasPrefix(format.name, "json") {
					rule.Key = []string{"id"}
				}
				got := compare(t, before, after, rule, tables)
				equal(t, i, got, want.keyedAdded, want.keyedGone, want.changed)
				if i%4 == 3 {
					continue
				}
				names := []string{"first", "second", "third"}
				if format.name == "fixed" {
					names = []string{"2", "3", "4"}
				}
				for n, count := range []int64{want.first, want.second, want.third} {
					if got.Rows.Columns[names[n]] != count {
						t.Errorf("pair %d: columns %v, want %s: %d", i, got.Rows.Columns, names[n], count)
					}
				}
			}
		})
	}
}

func equal(t *testing.T, pair int, got Change, added, gone, changed int64) {
	t.Helper()
	if got.Rows == nil || got.Note != "" || got.Rows.Added != added || got.Rows.Gone != gone || got.Rows.Changed != changed {
		t.Errorf("pair %d: %+v %q, want %d added, %d gone, %d changed", pair, got.Rows, got.Note, added, gone, changed)
	}
}
