package claims

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestAKeyHasOneClaimAtATime(t *testing.T) {
	var s Set
	first := s.TryTake([]string{"a", "b"})
	second := s.TryTake([]string{"b", "c"})
	if !slices.Equal(first.Keys(), []string{"a", "b"}) || !slices.Equal(second.Keys(), []string{"c"}) {
		t.Fatalf("claimed %v and %v", first.Keys(), second.Keys())
	}
	if s.TryTake([]string{"a", "b", "c"}) != nil {
		t.Error("a claimed key was claimed again")
	}
	first.Release("b")
	if third := s.TryTake([]string{"a", "b"}); !slices.Equal(third.Keys(), []string{"b"}) {
		t.Errorf("claimed %v", third.Keys())
	}
	first.Release("b") // belongs to another claim now
	first.Close()
	if fourth := s.TryTake([]string{"a", "b"}); !slices.Equal(fourth.Keys(), []string{"a"}) {
		t.Errorf("claimed %v", fourth.Keys())
	}
}

func TestTakeWaitsForTheFirstFreeKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set
		held := s.TryTake([]string{"a", "b"})
		time.AfterFunc(time.Minute, func() { held.Release("b") })
		began := time.Now()
		c, err := s.Take(t.Context(), []string{"a", "b"})
		if err != nil || !slices.Equal(c.Keys(), []string{"b"}) || time.Since(began) != time.Minute {
			t.Errorf("claimed %v, %v after %v", c.Keys(), err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Take(ctx, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the wait ended with %v", err)
		}
	})
}
