package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
)

// work is a command that has an engine do an operation and prints the result.
type work[Request, Result any] struct {
	operation operation.Work[Request, Result]
	check     func(*config.Config) error // of the request; nil for none
	progress  bool                       // show it on stderr
	slow      string                     // told on stderr if the work takes long; "" for nothing
	asJSON    bool
	text      func(io.Writer, Result) error // in place of JSON
	errors    func(io.Writer, Result)       // to stderr; nil for none
	isOK      func(Result) bool             // nil for always
}

// run does the work with the running engine, or with one of its own.
func (w work[Request, Result]) run(ctx context.Context, a *cli.App, req Request) error {
	cfg, err := w.load(a)
	if err != nil {
		return err
	}
	if w.slow != "" {
		defer time.AfterFunc(3*time.Second, func() { fmt.Fprintln(a.Stderr, w.slow) }).Stop()
	}
	result, err := cli.Do(ctx, a, cfg, w.operation, req, w.progress)
	if err != nil {
		return err
	}
	return w.print(a, result)
}

// load reads the configuration and checks the request.
func (w work[Request, Result]) load(a *cli.App) (*config.Config, error) {
	cfg, err := a.LoadAndWarn()
	if err == nil && w.check != nil {
		err = w.check(cfg)
	}
	return cfg, err
}

// print prints a result. Failures in it decide the exit code.
func (w work[Request, Result]) print(a *cli.App, result Result) error {
	shown, err := report.VisibleCopy(result)
	switch {
	case err != nil:
		return err
	case w.asJSON:
		err = a.PrintJSON(result)
	default:
		err = w.text(a.Stdout, shown)
	}
	if w.errors != nil {
		w.errors(a.Stderr, shown)
	}
	if err == nil && w.isOK != nil && !w.isOK(result) {
		err = cli.ErrPrinted
	}
	return err
}

// show prints the answer of the running engine, or what the disk says when none is running.
func show[Result any](ctx context.Context, a *cli.App, cfg *config.Config, q operation.Query[Result], fromDisk cli.FromDisk[Result], asJSON bool, text func(io.Writer, Result) error, checks ...func(Result) error) error {
	result, err := cli.Ask(ctx, a, cfg, q, fromDisk)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.PrintJSON(result)
	} else {
		err = text(a.Stdout, result)
	}
	for _, check := range checks {
		err = cmp.Or(err, check(result))
	}
	return err
}

// lines is the text of a result by a function that returns no error.
func lines[Result any](write func(io.Writer, Result)) func(io.Writer, Result) error {
	return func(w io.Writer, result Result) error {
		write(w, result)
		return nil
	}
}

// named checks the manifests that a request names.
func named(names []string) func(*config.Config) error {
	return func(cfg *config.Config) error { return checkNames(cfg, names) }
}
