package emulator

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"syncd/internal/emulator/wire"
)

// adminPrefix begins the paths of the administration, on the listener of the
// release service. They need no Customer ID. The log and the faults skip them.
const adminPrefix = "/-/"

// maxFaultText bounds the body of a POST to /-/faults, in bytes.
const maxFaultText = 1 << 20

// admin answers requests to the administration.
type admin struct{ e *Emulator }

// before answers the administration, and sends any other request to next.
func (a admin) before(next http.Handler) http.Handler {
	mux, e := http.NewServeMux(), a.e
	mux.HandleFunc("GET /-/requests", a.requests)
	mux.HandleFunc("DELETE /-/requests", func(w http.ResponseWriter, _ *http.Request) {
		e.ResetRequests()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /-/faults", a.faults)
	mux.HandleFunc("POST /-/faults", a.addFaults)
	mux.HandleFunc("DELETE /-/faults", a.removeFaults)
	mux.HandleFunc("GET /-/contributions", func(w http.ResponseWriter, _ *http.Request) {
		replyJSON(w, e.Contributions())
	})
	mux.HandleFunc("DELETE /-/contributions", func(w http.ResponseWriter, _ *http.Request) {
		e.ResetContributions()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /-/advance", func(w http.ResponseWriter, _ *http.Request) {
		replyJSON(w, map[string]string{"release": e.AdvanceSample()})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, adminPrefix) {
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func replyJSON(w http.ResponseWriter, v any) {
	wire.Write(w, http.StatusOK, wire.JSON.ContentType(), wire.EncodeJSON(v))
}

// requests answers with the request log.
func (a admin) requests(w http.ResponseWriter, _ *http.Request) {
	replyJSON(w, a.e.Requests())
}

type adminFault struct {
	ID      int    `json:"id"`
	Fault   string `json:"fault"`
	Matched int    `json:"matched"`
	Hits    int    `json:"hits"`
}

// faults answers with all faults in their text form.
func (a admin) faults(w http.ResponseWriter, _ *http.Request) {
	all := []adminFault{}
	for _, s := range a.e.Faults() {
		all = append(all, adminFault{ID: s.ID, Fault: s.Fault.String(), Matched: s.Matched, Hits: s.Hits})
	}
	replyJSON(w, all)
}

// addFaults adds a fault for each line of the body. One bad line adds none.
func (a admin) addFaults(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFaultText))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	faults, err := parseFaults(string(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ids := []int{}
	for _, f := range faults {
		ids = append(ids, a.e.AddFault(f))
	}
	replyJSON(w, map[string][]int{"ids": ids})
}

// parseFaults reads one fault per line and skips empty lines.
func parseFaults(text string) ([]Fault, error) {
	var faults []Fault
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		f, err := ParseFault(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// removeFaults removes the fault of the parameter id, or all faults without
// that parameter.
func (a admin) removeFaults(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("id")
	if text == "" {
		a.e.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	id, err := strconv.Atoi(text)
	if err != nil {
		http.Error(w, "id must be the number of a fault", http.StatusBadRequest)
		return
	}
	a.e.RemoveFault(id)
	w.WriteHeader(http.StatusNoContent)
}
