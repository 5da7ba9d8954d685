package crash_test

import (
	"testing"

	"syncd/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
