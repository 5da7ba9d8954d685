package main

import (
	"fmt"
	"os"
	"strings"
)

// figure is a line of a table: what was measured, and what it is held against.
type figure struct {
	what   string
	value  float64
	format string  // of value and target
	target float64 // at most; 0 for none
}

// cells are value, target and whether it is met, by what is shown: a ratio of 1.004
// is 1.00.
func (f figure) cells() string {
	value := fmt.Sprintf(f.format, f.value)
	if f.target == 0 {
		return value + " | | "
	}
	var shown float64
	met := "yes"
	if fmt.Sscan(value, &shown); shown > f.target {
		met = "**no**"
	}
	return fmt.Sprintf("%s | ≤ "+f.format+" | %s", value, f.target, met)
}

func figuresTable(about string, figures []figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| | measured | target | met |\n|---|---|---|---|\n", about)
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s |\n", f.what, f.cells())
	}
	return b.String()
}

// replaceTable puts a table between the marks of its case in a Markdown file.
func replaceTable(path, name, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- table: "+name+" -->\n", "<!-- end of table -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no place for the table %s", path, name)
	}
	return os.WriteFile(path, []byte(before+begin+table+end+after), 0o644)
}
