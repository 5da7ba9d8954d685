package command

import (
	"strings"
	"testing"
)

func TestEnvironLeavesSecretsOut(t *testing.T) {
	got := Environ([]string{
		"PATH=/bin", "SYNCD_CUSTOMER_ID=x", "MD_LICENSE=x", "CREDENTIALS_DIRECTORY=/run", "NOTIFY_SOCKET=/run/n", "LISTEN_FDS=1",
		"SYNCD_VIEW_OLD=/x", "OTEL_EXPORTER_OTLP_HEADERS=authorization=x", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=y", "SYNCD_CONFIG=/etc/s", "OTHER=my-CID-here", "EMPTY=",
	}, func(variable string) bool { return strings.Contains(variable, "CID") })
	if want := "PATH=/bin SYNCD_CONFIG=/etc/s EMPTY="; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
