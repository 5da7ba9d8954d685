package engine

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
)

func TestClientConfigKeepsEverySetting(t *testing.T) {
	base, proxy := &url.URL{Scheme: "https", Host: "h.example"}, &url.URL{Scheme: "http", Host: "p.example"}
	got := ClientConfig(config.Service{Connection: config.Connection{
		URL: base, CustomerIDParam: "key", CAFile: "roots.pem", Proxy: proxy, ClientCert: "cert.pem", ClientKey: "key.pem", AllowInsecureHTTP: true, StallTimeout: 4 * time.Second,
		Retry: config.Retry{InitialInterval: 1 * time.Second, MaxInterval: 2 * time.Second, MaxElapsed: 3 * time.Second},
	}}, "CID")
	want := transport.Config{
		Base: base, CustomerID: "CID", IDParam: "key", CAFile: "roots.pem", Proxy: proxy, ClientCert: "cert.pem", ClientKey: "key.pem", AllowInsecureHTTP: true, StallTimeout: 4 * time.Second,
		Retry: transport.Retry{InitialInterval: 1 * time.Second, MaxInterval: 2 * time.Second, MaxElapsed: 3 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyAnUpstreamThatTheOperatorNamedIsTold(t *testing.T) {
	const ofServeID = "abcdefghijklmnopqrstuvwxyz234567"
	for name, row := range map[string]struct {
		report config.Report
		id     config.Secret
		want   bool
	}{
		"a provider":                   {config.ReportAuto, "AB+c/9 ==", false},
		"a number":                     {config.ReportAuto, "12345678901234567890123456789012", false},
		"an id of serve-id":            {config.ReportAuto, ofServeID, true},
		"another id, named as a syncd": {config.ReportTrue, "x", true},
		"never":                        {config.ReportFalse, ofServeID, false},
	} {
		s := config.Default().Source
		s.Report = row.report
		if got := SourceConfig(s, row.id).Report; got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
