package command

import (
	"strings"
	"testing"
)

func TestEnvironLeavesSecretsOut(t *testing.T) {
	got := Environ([]string{
		"PATH=/bin", "SYNCD_CUSTOMER_ID=x", "MD_LICENSE=x", "CREDENTIALS_DIRECTORY=/run", "NOTIFY_SOCKET=/run/n",
		"SYNCD_CONFIG=/etc/s", "OTHER=my-CID-here", "EMPTY=",
	}, "CID", "")
	if want := "PATH=/bin SYNCD_CONFIG=/etc/s EMPTY="; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
