package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"syncd/internal/clients/service"
)

// helpWidth is where lists of names are broken.
const helpWidth = 96

// serviceUsage is the usage of a service and of its operations: what they hold
// is told by their descriptions.
const serviceUsage = `Usage:
  {{.UseLine}}

Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
`

// describeService lists the operations of a service with their inputs.
func describeService(c callable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Operations:\n", c.short)
	for _, op := range c.operations {
		fmt.Fprintf(&b, "\n  %s   %s\n", strings.Join(op.Variants(), ", "), forms(op))
		fmt.Fprintf(&b, "      %s\n", op.Summary)
		for _, method := range op.Methods {
			for _, line := range needs(op, method) {
				fmt.Fprintf(&b, "      %s %s\n", method, line)
			}
			writeNames(&b, fmt.Sprintf("      %s takes ", method), inputNames(op, method))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// forms are the methods and formats of an operation.
func forms(op *service.Operation) string {
	text := strings.Join(op.Methods, ", ") + "; " + strings.Join(op.Formats, ", ")
	if op.Script {
		text += ", jsonp"
	}
	return text
}

// needs are the minimum inputs in the form of a method, a line for each rule.
func needs(op *service.Operation, method string) []string {
	var lines []string
	rule := func(where string, f service.Fields) {
		if sets := f.SetNames(method, "{Prefix}"); len(sets) > 0 {
			lines = append(lines, fmt.Sprintf("needs%s any one of: %s", where, strings.Join(sets, "; ")))
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

// inputNames are the names that a method takes, those that are required with a
// star. Of what lies in lists within lists, and of long objects, the outer name
// stands for all.
func inputNames(op *service.Operation, method string) []string {
	var names []string
	for _, slot := range op.Slots(method) {
		if method == "POST" && len(slot) > 1 && len(slot[0].Inputs) > maxShown {
			continue
		}
		name := slot.NameIn(method, "{Prefix}")
		if slot.Input().Required {
			name += "*"
		}
		names = append(names, name)
	}
	return names
}

// maxShown is how many members of an object are listed one by one.
const maxShown = 30

// writeNames writes a list of names in lines.
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

// describeOperation explains one operation.
func describeOperation(op *service.Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nForms: %s\n", op.Summary, forms(op))
	for _, method := range op.Methods {
		for _, line := range needs(op, method) {
			fmt.Fprintf(&b, "%s %s\n", method, line)
		}
	}
	b.WriteString("\nInputs (* required; {Prefix} is services.prefix of the configuration):\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	heads := make([]string, len(op.Methods))
	for i, method := range op.Methods {
		heads[i] = "with " + method
	}
	fmt.Fprintf(table, "  %s\tvalue\t\n", strings.Join(heads, "\t"))
	for _, row := range rows(op) {
		fmt.Fprintf(table, "  %s\n", row)
	}
	_ = table.Flush() // to a Builder, which takes everything
	b.WriteString(values(op))
	return strings.TrimSuffix(b.String(), "\n")
}

// rows are the inputs of an operation with their names in each form.
func rows(op *service.Operation) []string {
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
				name = slot.NameIn(method, "{Prefix}")
			}
			if in.Required && name != "" {
				name += "*"
			}
			names = append(names, name)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", strings.Join(names, "\t"), in.Kind.Name, in.Means))
	}
	return rows
}

// values lists the known values of inputs that have many.
func values(op *service.Operation) string {
	var b strings.Builder
	for _, in := range op.Inputs {
		if len(in.Kind.Values) > 0 && !strings.Contains(in.Kind.Name, in.Kind.Values[0]) {
			writeNames(&b, "\nKnown "+in.Name+": ", in.Kind.Values)
		}
	}
	return b.String()
}

// completeInput offers the names that a method takes and, behind one, its values.
func completeInput(op *service.Operation, method, typed string) ([]string, cobra.ShellCompDirective) {
	name, _, hasValue := strings.Cut(typed, "=")
	var offered []string
	for _, slot := range op.Slots(method) {
		full := slot.NameIn(method, "{Prefix}")
		if !hasValue {
			offered = append(offered, full+"=\t"+slot.Input().Means)
			continue
		}
		if strings.EqualFold(full, name) {
			for _, value := range slot.Input().Kind.Values {
				offered = append(offered, name+"="+value)
			}
		}
	}
	if hasValue {
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
