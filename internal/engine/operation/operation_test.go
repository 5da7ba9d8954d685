package operation

import (
	"context"
	"errors"
	"strings"
	"testing"

	"syncd/internal/report"
	"syncd/internal/report/request"
)

func idle() report.Progress { return report.Progress{} }

func TestATableDoesWhatItsHandlersDo(t *testing.T) {
	full := errors.New("disk full")
	first := NewTable(idle,
		Status.By(func() (report.Status, error) { return report.Status{Generation: 3}, nil }),
		Rollback.By(func(_ context.Context, req request.Rollback) (report.Sync, error) {
			return report.Sync{Generation: req.Generation}, full // a result beside an error counts
		}),
	)
	changed := first.With(Status.By(func() (report.Status, error) { return report.Status{Generation: 4}, nil }))
	for table, want := range map[*Table]int{first: 3, changed: 4} {
		if status, err := Status.Ask(t.Context(), table); err != nil || status.Generation != want {
			t.Errorf("status %d, %v; want %d", status.Generation, err, want)
		}
		result, err := Rollback.Do(t.Context(), table, request.Rollback{Generation: 2})
		if !errors.Is(err, full) || result.Generation != 2 {
			t.Errorf("rollback to %d, %v", result.Generation, err)
		}
	}
	if _, err := Forget.Do(t.Context(), first, request.Forget{}); err == nil {
		t.Error("an operation without a handler was done")
	}
}

func TestHandlersHaveTheMethodAndPathOfTheControlSocket(t *testing.T) {
	handlers := NewTable(idle,
		Ready.By(),
		Order.By(func(_ context.Context, req request.Order) (report.Sync, error) {
			return report.Sync{Removed: req.Manifests}, nil
		}),
	).Handlers()
	if _, known := handlers["GET /health?ready"]; !known || len(handlers) != 2 {
		t.Errorf("handlers: %v", handlers)
	}
	h := handlers["POST /order"]
	req, err := h.Read(strings.NewReader(`{"manifests":["one"]}`))
	if err != nil {
		t.Fatal(err)
	}
	result, err := h.Do(t.Context(), req)
	if sync, ok := result.(*report.Sync); err != nil || !ok || len(sync.Removed) != 1 {
		t.Errorf("%v, %v", result, err)
	}
}
