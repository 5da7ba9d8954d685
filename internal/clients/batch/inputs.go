package batch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// inputs turns rows into calls.
type inputs struct {
	operation *service.Operation
	form      service.Form
	prefix    string
	arguments []string // name=value of every row

	known map[string]service.Slot // by the name of a column; nil for columns that are not sent
	order []string                // of the names in known, as they came
}

func newInputs(cfg Config) *inputs {
	return &inputs{cfg.Operation, cfg.Form, cfg.Client.Prefix(), cfg.Arguments, map[string]service.Slot{}, nil}
}

// slot returns the input that a column names, or nil.
func (in *inputs) slot(column string) (service.Slot, error) {
	if slot, done := in.known[column]; done {
		return slot, nil
	}
	slot, err := in.operation.Find(column, in.form.Method, in.prefix)
	if err == nil && len(in.known) < maxNames {
		in.known[column] = slot
		in.order = append(in.order, column)
	}
	return slot, err
}

// maxNames bounds the names of columns that are remembered: each line of JSON can bring
// others.
const maxNames = 10_000

// checkColumns refuses columns that are ambiguous, and two for one input.
func (in *inputs) checkColumns(columns []string) error {
	columnOf := map[string]string{}
	for _, column := range columns {
		slot, err := in.slot(column)
		switch {
		case err != nil:
			return err
		case slot == nil:
			continue
		}
		name := slot.NameIn(in.form.Method, in.prefix)
		if before, taken := columnOf[name]; taken {
			return fmt.Errorf("columns %s and %s are both the input %s: rename or remove one", before, column, name)
		}
		columnOf[name] = column
	}
	return nil
}

// sent returns the columns that are sent, and those that are only kept.
func (in *inputs) sent() (sent, kept []string) {
	for _, column := range in.order {
		switch {
		case in.known[column] != nil:
			sent = append(sent, column)
		case column != "":
			kept = append(kept, column)
		}
	}
	return sent, kept
}

// call returns the call of a row. Empty cells are not sent.
func (in *inputs) call(r row) (*service.Call, error) {
	if r.err != nil {
		return nil, r.err
	}
	args := slices.Clone(in.arguments)
	for _, m := range r.members {
		slot, err := in.slot(m.Name)
		if err != nil {
			return nil, err
		}
		text, isText := wire.TextOf(m.Value)
		if !isText && m.Value != nil {
			text = string(wire.JSON(m.Value))
		}
		switch {
		case slot == nil || strings.TrimSpace(text) == "" && !slot.TakesEmpty():
			continue
		case !utf8.ValidString(text):
			return nil, fmt.Errorf("%s is not UTF-8: save the file in UTF-8", m.Name)
		}
		args = append(args, m.Name+"="+text)
	}
	members, extra, err := in.operation.Arguments(in.form.Method, in.prefix, nil, args)
	if err != nil {
		return nil, err
	}
	form := in.form
	form.Extra = extra
	return in.operation.Check(form, members, in.prefix)
}
