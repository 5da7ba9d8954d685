package emulator

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"syncd/internal/emulator/wire"
)

// behind is the other service at Config.Behind, and the address that links get instead.
type behind struct {
	base    string
	ownBase func(*http.Request) string
}

// before lets the other service answer what it knows, with the emulator's own address in
// links. The emulator itself answers what that service has not, such as what a
// test published here since. Faults and the log apply to all.
func (b behind) before(own http.Handler) http.Handler {
	if b.base == "" {
		return own
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, b.base+r.URL.RequestURI(), nil)
		if err != nil {
			wire.Empty(http.StatusBadRequest).Write(w)
			return
		}
		out.Header = r.Header.Clone()
		answer, err := client.Do(out)
		if err != nil {
			wire.Empty(http.StatusBadGateway).Write(w)
			return
		}
		defer func() { _ = answer.Body.Close() }() // only read
		if answer.StatusCode == http.StatusNotFound {
			own.ServeHTTP(w, r)
			return
		}
		b.passOn(w, r, answer)
	})
}

// passOn sends the answer of another service.
func (b behind) passOn(w http.ResponseWriter, r *http.Request, answer *http.Response) {
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		wire.Empty(http.StatusBadGateway).Write(w)
		return
	}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/octet-stream") {
		body = bytes.ReplaceAll(body, []byte(b.base), []byte(b.ownBase(r)))
	}
	for name, values := range answer.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(body) // it fails when the client is gone
}
