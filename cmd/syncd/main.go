// Command syncd keeps a local, proven copy of a provider's reference data. See
// README.md, or `syncd --help`.
package main

import (
	"context"
	"os"

	"syncd/cmd/syncd/gctune"
	"syncd/internal/downstream/patches"
	"syncd/internal/host/command"
)

func main() {
	if command.IsSupervisor() {
		os.Exit(command.Supervise())
	}
	if patches.IsWorker() {
		os.Exit(patches.Work())
	}
	gctune.Start(os.Getenv)
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
