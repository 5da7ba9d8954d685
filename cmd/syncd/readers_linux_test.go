package main

import (
	"strings"
	"testing"
)

func TestRootIsNotToldToRunReadersAsRoot(t *testing.T) {
	if text := unseenText(2, 1000); !strings.Contains(text, "run this as root") {
		t.Error(text)
	}
	if text := unseenText(2, 0); strings.Contains(text, "as root") || !strings.Contains(text, "CAP_SYS_PTRACE") {
		t.Error(text)
	}
}
