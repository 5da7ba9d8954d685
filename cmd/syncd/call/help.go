package call

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// helpWidth is the width at which lists of names are broken.
const helpWidth = 96

// operationUsage follows the description of an operation in its help.
const operationUsage = `Usage:
  {{.UseLine}}

Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
`

// defaultPrefix is the default of services.prefix.
const defaultPrefix = "Provider"

// helpPrefix returns the configured prefix, or the default without a usable
// configuration.
func helpPrefix(a *cli.App) string {
	cfg, err := a.Load()
	if err != nil {
		return defaultPrefix
	}
	return cfg.Services.Prefix
}

// describeService lists the operations of a service, one line each. The list of
// every service fits a terminal of 80 by 24 characters.
func describeService(c Service) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&b, "%s:\n", c.Short)
	note := ""
	for _, op := range c.Operations {
		fmt.Fprintf(table, "  %s\t%s\n", op.Name, op.Summary)
		if first, _, _ := strings.Cut(op.Name, "/"); strings.HasPrefix(first, "{") {
			note = first + " is " + firstValues(op) + ". "
		}
	}
	_ = table.Flush() // a Builder returns no errors
	fmt.Fprintf(&b, "%sInputs: syncd call %s OPERATION --help", note, c.Name)
	return b.String()
}

// firstValues returns the values of an operation's first path segment.
func firstValues(op *service.Operation) string {
	var values []string
	for _, variant := range op.Variants() {
		value, _, _ := strings.Cut(variant.Name, "/")
		values = append(values, value)
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// forms returns the methods and formats of an operation.
func forms(op *service.Operation) string {
	text := strings.Join(op.Methods, ", ") + "; " + strings.Join(op.Formats, ", ")
	if op.JSONP {
		text += ", jsonp (with --jsonp)"
	}
	return text
}

// needs returns the minimum inputs with a method, one line for each rule.
func needs(op *service.Operation, method, prefix string) []string {
	var lines []string
	rule := func(where string, f service.Fields) {
		if sets := f.SetNames(method, prefix); len(sets) > 0 {
			lines = append(lines, fmt.Sprintf("needs%s any one of: %s", where, strings.Join(sets, ", ")))
		}
	}
	rule("", op.Fields)
	for _, in := range op.Inputs {
		where := ""
		if method == "POST" {
			where = " in " + in.Name + ","
		}
		rule(where, in.Fields)
	}
	return lines
}

// writeNames writes a list of names, broken into lines.
func writeNames(b *strings.Builder, lead string, names []string) {
	line := lead
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if len(line)+len(name) > helpWidth && line != lead {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", len(lead))
		}
		line += name + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// describeOperation explains one operation, with the prefix in its names.
func describeOperation(op *service.Operation, prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", op.Summary)
	if op.Note != "" {
		b.WriteString(op.Note + "\n")
	}
	fmt.Fprintf(&b, "\nForms: %s\n", forms(op))
	for _, method := range op.Methods {
		for _, line := range needs(op, method, prefix) {
			fmt.Fprintf(&b, "%s %s\n", method, line)
		}
	}
	if len(op.Aligned) > 0 {
		fmt.Fprintf(&b, "%s must have the same keys.\n", strings.Join(op.Aligned, " and "))
	}
	b.WriteString(filledIn(op))
	writeInputs(&b, op, prefix)
	if hasPrefix(op) {
		fmt.Fprintf(&b, "\n%s in names is services.prefix of the configuration.\n", prefix)
	}
	b.WriteString(values(op, prefix))
	return strings.TrimSuffix(b.String(), "\n")
}

// filledIn names the inputs that callers leave out.
func filledIn(op *service.Operation) string {
	names := []string{"the Customer ID"}
	if inputs := op.FilledIn(); len(inputs) > 0 {
		names = nil
		for _, in := range inputs {
			names = append(names, fmt.Sprintf("%s (%s)", in.Name, in.Kind.Name))
		}
	}
	return "Filled in, leave out: " + strings.Join(names, ", ") + "\n"
}

// hasPrefix is true for an operation with the prefix in a name.
func hasPrefix(op *service.Operation) bool {
	return slices.ContainsFunc(op.Slots("POST"), func(s service.Slot) bool { return s.NameIn("POST", "") != s.NameIn("POST", "{Prefix}") })
}

func writeInputs(b *strings.Builder, op *service.Operation, prefix string) {
	b.WriteString("\nInputs (* required):\n")
	var aligned strings.Builder
	table := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	heads := make([]string, len(op.Methods))
	for i, method := range op.Methods {
		heads[i] = "with " + method
	}
	fmt.Fprintf(table, "  %s\tvalue\t\n", strings.Join(heads, "\t"))
	for _, row := range rows(op, prefix) {
		fmt.Fprintf(table, "  %s\n", row)
	}
	_ = table.Flush() // a Builder returns no errors
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// rows returns the inputs of an operation with their names for each method.
func rows(op *service.Operation, prefix string) []string {
	slots := op.Slots("POST")
	if !op.Has("POST") {
		slots = op.Slots("GET")
	}
	var rows []string
	for _, slot := range slots {
		in := slot.Input()
		var names []string
		for _, method := range op.Methods {
			name := ""
			if method == "POST" || slices.ContainsFunc(op.Slots("GET"), func(s service.Slot) bool { return s.Input() == in }) {
				name = slot.NameIn(method, prefix)
			}
			if in.Required && name != "" {
				name += "*"
			}
			names = append(names, name)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", strings.Join(names, "\t"), in.Kind.Name, in.Help))
	}
	return rows
}

// values lists the known values of inputs that have many.
func values(op *service.Operation, prefix string) string {
	var b strings.Builder
	for _, in := range op.Inputs {
		if len(in.Kind.Values) > 0 && !strings.Contains(in.Kind.Name, in.Kind.Values[0]) {
			writeNames(&b, "\nKnown "+in.Name+": ", withPrefix(in.Kind.Values, prefix))
		}
	}
	return b.String()
}

func withPrefix(names []string, prefix string) []string {
	named := make([]string, len(names))
	for i, name := range names {
		named[i] = wire.WithPrefix(name, prefix)
	}
	return named
}

// completeInput offers the names that a method takes, and after a name its values.
func completeInput(op *service.Operation, method, prefix, typed string) ([]string, cobra.ShellCompDirective) {
	name, _, hasValue := strings.Cut(typed, "=")
	var offered []string
	for _, slot := range op.Slots(method) {
		full := slot.NameIn(method, prefix)
		if !hasValue {
			offered = append(offered, full+"=\t"+slot.Input().Help)
			continue
		}
		if strings.EqualFold(full, name) {
			for _, value := range withPrefix(slot.Input().Kind.Values, prefix) {
				offered = append(offered, name+"="+value)
			}
		}
	}
	if hasValue {
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
