package cli

import (
	"context"
	"errors"
	"time"
)

// watchEvery is the time between two looks.
const watchEvery = 2 * time.Second

// Watch calls look, which prints, again and again until ctx ends. A terminal shows only what
// the last call printed.
func (a *App) Watch(ctx context.Context, look func() error) error {
	between := "" // what separates two looks
	if a.Stdout.IsTerminal() {
		between = "\x1b[H\x1b[2J"
	}
	for ctx.Err() == nil {
		if err := a.Stdout.WriteStyled(between); err != nil {
			return err
		}
		if between == "" {
			between = "\n"
		}
		if err := look(); err != nil && !errors.Is(err, ErrPrinted) && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchEvery):
		}
	}
	return nil
}
