package transport

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

func TestOnlyAnUpstreamThatIsASyncdIsTold(t *testing.T) {
	other := plainServer(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(HeaderUpstream, Upstream) })
	names := ""
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		if names != "" {
			w.Header().Set(HeaderUpstream, names)
		}
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/along":
			http.Redirect(w, r, "/here", http.StatusFound)
		}
	})
	c := newClient(t, server.URL)
	c.cfg.Report = true
	told := func(s *recorder) (told []string) {
		for _, r := range s.requests() {
			told = append(told, r.Header.Get(HeaderState))
		}
		return told
	}
	ask := func(segment string) {
		t.Helper()
		if _, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{segment}, Limit: 100, State: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		names, segment string
		want           []string // told with the requests of this step
	}{
		{"", "a", []string{""}}, {"", "a", []string{""}}, // the provider
		{"2", "a", []string{""}}, {"", "a", []string{""}}, // another version
		{"1", "a", []string{""}}, {"1", "a", []string{"s"}}, {"1", "along", []string{"s", "s"}}, {"1", "away", []string{"s"}},
		{"", "a", []string{"s"}}, {"", "a", []string{""}}, // the provider took its place
	} {
		before := len(server.requests())
		names = step.names
		ask(step.segment)
		if got := told(server)[before:]; !slices.Equal(got, step.want) {
			t.Errorf("%+v: told %q", step, got)
		}
	}
	if got := told(other); !slices.Equal(got, []string{""}) {
		t.Errorf("another origin was told %q", got)
	}
}

// Any provider can send the header, and would learn names of hosts and what they serve.
func TestAProviderThatClaimsToBeASyncdIsToldNothing(t *testing.T) {
	server := plainServer(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(HeaderUpstream, Upstream) })
	c := newClient(t, server.URL)
	for range 3 {
		if _, _, err := c.Do(t.Context(), Request{Endpoint: "E", Limit: 100, State: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range server.requests() {
		if told := r.Header.Get(HeaderState); told != "" {
			t.Errorf("told %q", told)
		}
	}
}

// An order is that of the upstream which the operator named: not of a provider that claims to
// be one, nor of a server to which it redirects.
func TestOnlyAnUpstreamThatWasNamedGivesOrders(t *testing.T) {
	other := plainServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(HeaderUpstream, Upstream)
		w.Header().Set(HeaderDestroy, "from elsewhere")
	})
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		case "/provider":
		default:
			w.Header().Set(HeaderUpstream, Upstream)
		}
		w.Header().Set(HeaderDestroy, "after=1")
	})
	for _, row := range []struct {
		segment    string
		isNamed    bool
		want       string
		isUpstream bool
	}{{"upstream", true, "after=1", true}, {"provider", true, "", false}, {"away", true, "", false}, {"upstream", false, "", false}} {
		c := newClient(t, server.URL)
		c.cfg.Report = row.isNamed
		res, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{row.segment}, Limit: 100})
		if err != nil || res.Destroy != row.want || res.IsUpstream != row.isUpstream {
			t.Errorf("%+v: %q, %v, %v", row, res.Destroy, res.IsUpstream, err)
		}
	}
}

// Another origin, and a cache, know nothing of the provider's time.
func TestTheDateOfTheBaseIsTold(t *testing.T) {
	other := plainServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Sun, 01 Jan 2034 00:00:00 GMT")
	})
	server := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		date := "Fri, 01 Jan 2027 00:00:00 GMT"
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/cached":
			w.Header().Set("Age", "60")
		case "/broken":
			date = "yesterday"
		case "/none":
			w.Header()["Date"] = nil
			return
		case "/failing":
			defer w.WriteHeader(http.StatusNotFound)
		}
		w.Header().Set("Date", date)
	})
	c := newClient(t, server.URL)
	var told []int
	c.cfg.Dated = func(date time.Time) { told = append(told, date.Year()) }
	for segment, want := range map[string]int{"a": 1, "failing": 1, "cached": 0, "broken": 0, "none": 0} {
		told = nil
		_, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{segment}, Limit: 100})
		if (err != nil) != (segment == "failing") || len(told) != want || want > 0 && told[0] != 2027 {
			t.Errorf("%s: told %d, %v", segment, told, err)
		}
	}
	told = nil
	if _, _, err := c.Do(t.Context(), Request{Endpoint: "E", Segments: []string{"away"}, Limit: 100}); err != nil || slices.Contains(told, 2034) {
		t.Errorf("a redirect: told %d, %v", told, err)
	}
}
