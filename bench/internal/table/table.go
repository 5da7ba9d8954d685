// Package table writes the tables of measured figures into Markdown pages.
package table

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Figure is a row of a table: a measured value and its target.
type Figure struct {
	What   string
	Value  float64
	Format string  // of Value and Target
	Target float64 // highest value that meets the target; 0 means no target
}

// Row returns a figure. Target 0 means that it has none.
func Row(what string, value float64, format string, target float64) Figure {
	return Figure{What: what, Value: value, Format: format, Target: target}
}

// Cells returns the value, the target, and whether the rounded value meets it: a ratio
// of 1.004 is shown and compared as 1.00.
func (f Figure) Cells() string {
	value := fmt.Sprintf(f.Format, f.Value)
	if f.Target == 0 {
		return value + " | | "
	}
	met := "yes"
	if rounded, err := strconv.ParseFloat(value, 64); err != nil || rounded > f.Target {
		met = "**no**"
	}
	return fmt.Sprintf("%s | ≤ "+f.Format+" | %s", value, f.Target, met)
}

// Figures renders a table below a line about it.
func Figures(about string, figures []Figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| | measured | target | met |\n|---|---|---|---|\n", about)
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s |\n", f.What, f.Cells())
	}
	return b.String()
}

// Replace writes a table between the marks of its name in a Markdown file.
func Replace(path, name, table string) error {
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
