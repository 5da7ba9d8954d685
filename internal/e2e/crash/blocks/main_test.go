package blocks_test

import (
	"os"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/e2e/crash/blocks"
)

func TestMain(m *testing.M) {
	if blocks.IsServer() {
		os.Exit(blocks.Serve())
	}
	e2e.Main(m)
}
