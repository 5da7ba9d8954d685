package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// figure is a row of a table: a measured value and its target.
type figure struct {
	what   string
	value  float64
	format string  // of value and target
	target float64 // highest value that meets the target; 0 means no target
}

// cells returns the value, the target, and whether the rounded value meets it: a ratio
// of 1.004 is shown and compared as 1.00.
func (f figure) cells() string {
	value := fmt.Sprintf(f.format, f.value)
	if f.target == 0 {
		return value + " | | "
	}
	met := "yes"
	if rounded, err := strconv.ParseFloat(value, 64); err != nil || rounded > f.target {
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

// replaceTable writes a table between the marks of its case in a Markdown file.
func replaceTable(path, name, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- table: "+name+" -->\n", "<!-- end of table -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s: no marks for the table %q", path, name)
	}
	return os.WriteFile(path, []byte(before+begin+table+end+after), 0o644)
}
