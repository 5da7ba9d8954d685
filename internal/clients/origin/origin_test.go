package origin

import (
	"net/url"
	"testing"
)

func TestOriginsHaveOneSpelling(t *testing.T) {
	for address, want := range map[string]string{
		"https://H.Example/x":  "https://h.example:443",
		"http://h.example":     "http://h.example:80",
		"http://h.example:443": "http://h.example:443",
		"https://[::1]:8443/":  "https://[::1]:8443",
		"HTTPS://u:p@h/?q#f":   "https://h:443",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Of(u); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

func TestLoopbackIsTheNameAndTheAddresses(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example": false, "127.0.0.1.example": false, "10.0.0.1": false, "0.0.0.0": false, "::": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
