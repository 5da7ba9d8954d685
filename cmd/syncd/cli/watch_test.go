package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchPrintsUntilASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := New(Options{Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &out})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		n := 0
		err := a.Watch(ctx, func() error {
			n++
			fmt.Fprintf(a.Stdout, "%d\n", n)
			return ErrPrinted // damage does not end it
		})
		if err != nil || out.String() != "1\n\n2\n\n3\n" {
			t.Errorf("%v, %q", err, out.String())
		}
		broken := errors.New("broken")
		if err := a.Watch(t.Context(), func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	})
}
