// Command syncd keeps a local, proven copy of a provider's reference data. See
// README.md, or `syncd --help`.
package main

import (
	"context"
	"os"
)

func main() {
	tuneGC(os.Getenv)
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
