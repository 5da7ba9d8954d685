package refusal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestReasonsMatchTheContract(t *testing.T) {
	var names []string
	for _, reason := range Reasons() {
		names = append(names, string(reason))
	}
	const want = "hash_mismatch bad_name bad_release path_clash empty shrink downgrade no_space too_large bad_shape insecure gate probe expired unsigned bad_signature upstream_rollback upstream_frozen wrong_origin bad_trust"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReasonOfLooksThroughWrapping(t *testing.T) {
	refused := New(NoSpace, "need %d bytes: %w", 5, io.ErrShortWrite)
	wrapped := fmt.Errorf("sync dq_addr_data: %w", errors.Join(io.EOF, refused))
	for name, row := range map[string]struct {
		err  error
		want Reason
	}{
		"nil":           {nil, ""},
		"another error": {io.EOF, ""},
		"itself":        {refused, NoSpace},
		"wrapped":       {wrapped, NoSpace},
		"the outermost": {&Error{Reason: Shrink, Err: refused}, Shrink},
	} {
		if got := ReasonOf(row.err); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
	if refused.Error() != "need 5 bytes: short write" || !errors.Is(wrapped, io.ErrShortWrite) {
		t.Errorf("text %q, or the cause is lost", refused)
	}
}
