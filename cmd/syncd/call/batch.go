package call

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/batch"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/report"
)

// batchFlags are the flags of a batch.
type batchFlags struct {
	input, output string
	rate          float64
	parallel      int
}

// Defaults of a batch, and its bounds.
const (
	defaultRate     = 10
	maxRate         = 10_000
	defaultParallel = 4
	maxParallel     = 64
)

func (f *batchFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.input, "batch", "", "call once for each row of `FILE`, CSV or NDJSON, whose columns name inputs; the same command goes on after an end")
	flags.StringVar(&f.output, "out", "", "`FILE` that gets the rows of --batch with their answers")
	flags.Float64Var(&f.rate, "rate", defaultRate, "most requests of a batch in a second")
	flags.IntVar(&f.parallel, "parallel", defaultParallel, "most requests of a batch in flight")
}

// check refuses flags that a batch cannot have, or that only a batch can have.
func (f *batchFlags) check(flags callFlags, changed func(string) bool) error {
	if f.input == "" {
		for _, name := range []string{"out", "rate", "parallel"} {
			if changed(name) {
				return cli.Usagef("--%s needs --batch", name)
			}
		}
		return nil
	}
	for name, isGiven := range map[string]bool{"body": flags.body != "", "raw": flags.raw, "include": flags.include, "curl": flags.curl} {
		if isGiven {
			return cli.Usagef("--batch and --%s exclude each other", name)
		}
	}
	switch {
	case f.output == "":
		return cli.Usagef("--batch needs --out FILE, which gets the rows with their answers")
	case !(f.rate > 0 && f.rate <= maxRate):
		return cli.Usagef("--rate must be above 0, at most %d", maxRate)
	case f.parallel < 1 || f.parallel > maxParallel:
		return cli.Usagef("--parallel must be from 1 to %d", maxParallel)
	}
	return nil
}

// makeBatch calls an operation for each row of a file.
func makeBatch(ctx context.Context, a *cli.App, name string, op *service.Operation, flags callFlags, args []string) error {
	method := flags.method(op)
	if !flags.get && !flags.post {
		method = "" // the columns choose it
	}
	switch {
	case method != "" && !op.Has(method):
		return cli.Usagef("%s cannot be called with %s: use %s", op.Name, method, strings.Join(op.Methods, " or "))
	case op.Formats[0] == service.FormatFile:
		return cli.Usagef("%s answers with a file: a batch takes operations that answer with data", op.Name)
	}
	heads := &heads{a: a, verbose: flags.verbose}
	client, err := connectService(a, name, flags, heads.trace)
	if err != nil {
		return err
	}
	defer client.Close()
	b, err := batch.Open(batch.Config{
		Client: client, Service: name, Operation: op, Form: service.Form{Method: method, Format: flags.format, JSONP: flags.jsonp},
		Arguments: args, Input: flags.batch.input, Output: flags.batch.output, Rate: flags.batch.rate, AtOnce: flags.batch.parallel,
		Show: func(p batch.Progress) { showProgress(a, p) },
	})
	if err != nil {
		return usageOf(err)
	}
	defer b.Close() //nolint:errcheck // what counts is durable already
	if flags.dryRun {
		showPlan(a, b, name, op, flags)
		return printPreview(a, client, b.First)
	}
	isComplete, err := b.Begin()
	if err != nil {
		return usageOf(err)
	}
	if isComplete {
		a.Note(fmt.Sprintf("%s has the answers to all %s of %s already: remove it to ask again", flags.batch.output, count(b.Rows, "row"), flags.batch.input))
		return rowErrors(flags, b.Failed, b.Rows)
	}
	showPlan(a, b, name, op, flags)
	failed, err := b.Run(ctx)
	if stopped, ok := errors.AsType[*batch.StoppedError](err); ok {
		a.Note(fmt.Sprintf("%d of %s are done, and kept in %s: the same command goes on with the others", stopped.Done, count(stopped.Rows, "row"), b.Partial()))
	}
	if err != nil {
		return err
	}
	if failed == 0 {
		fmt.Fprintf(a.Stderr, "syncd: %s has the answers: %s\n", flags.batch.output, count(b.Rows, "row"))
	}
	return rowErrors(flags, failed, b.Rows)
}

// usageOf makes an input that cannot be used an error of usage.
func usageOf(err error) error {
	if input, ok := errors.AsType[*batch.InputError](err); ok {
		return &cli.UsageError{Err: input}
	}
	return err
}

// rowErrors is the error of a batch in which rows have failed.
func rowErrors(flags callFlags, failed, rows int) error {
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s in %s have an error: see its column error", failed, count(rows, "row"), flags.batch.output)
}

// maxShown bounds the names of columns that a line shows.
const maxShown = 12

func showPlan(a *cli.App, b *batch.Batch, name string, op *service.Operation, flags callFlags) {
	left := b.Rows - b.Done
	requests := max(left-b.Invalid, 0)
	if b.Done > 0 {
		requests = left // invalid rows may be among those that are done
	}
	took := time.Duration(math.Ceil(float64(requests)/flags.batch.rate)) * time.Second
	fmt.Fprintf(a.Stderr, "syncd: %s: %s; at most %s to %s %s, %g a second, which takes %s or longer\n",
		flags.batch.input, count(b.Rows, "row"), count(requests, "request"), name, op.Name, flags.batch.rate, took)
	if b.Done > 0 {
		a.Note(fmt.Sprintf("%s have their answer in %s", count(b.Done, "row"), b.Partial()))
	}
	if b.Invalid > 0 {
		a.Warn(fmt.Sprintf("%s cannot be sent: %s", count(b.Invalid, "row"), report.VisibleLine(transport.Printable(b.Problem.Error()))))
	}
	a.Note("columns that are sent: " + names(b.Sent))
	if len(b.Kept) > 0 {
		a.Note("columns that are no inputs, and are only kept: " + names(b.Kept))
	}
}

func names(columns []string) string {
	more := ""
	if len(columns) > maxShown {
		more = fmt.Sprintf(" and %d more", len(columns)-maxShown)
		columns = columns[:maxShown]
	}
	return report.VisibleLine(transport.Printable(strings.Join(columns, ", "))) + more
}

func showProgress(a *cli.App, p batch.Progress) {
	left := ""
	if p.Left > 0 {
		left = fmt.Sprintf(", %s left", p.Left.Round(time.Second))
	}
	fmt.Fprintf(a.Stderr, "syncd: %d of %s, %d with an error%s\n", p.Done, count(p.Rows, "row"), p.Failed, left)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
