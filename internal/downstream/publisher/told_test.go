package publisher

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// told is a record of which the provider said something about each file.
func told(record mirror.Record, text string) mirror.Record {
	record.Described = true
	files := make([]mirror.File, len(record.Files))
	for i, f := range record.Files {
		f.Metadata = &manifest.Metadata{Members: []manifest.Member{{Name: "BuildDate", Value: text}}}
		files[i] = f
	}
	record.Files = files
	return record
}

// metadata returns what the bucket's record says about the first file of addr.
func metadata(t *testing.T, s *buckettest.Server) (text string, described bool) {
	t.Helper()
	m, _ := look(t, s).generation.Manifest("addr")
	read, err := bucket.ParseRecord(m, bytes.NewReader(file(t, s, m.Record())))
	must(t, err)
	if read.Files[0].Metadata == nil {
		return "", m.Described
	}
	said, err := json.Marshal(read.Files[0].Metadata)
	must(t, err)
	return string(said), m.Described
}

func TestRecordsHaveWhatTheProviderSaid(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	plain := h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, p, Request{})
	if text, described := metadata(t, server); text != "" || described {
		t.Errorf("before it was asked: %q %t", text, described)
	}
	h.show(told(plain, "2026-10-01"))
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Objects != 0 {
		t.Errorf("%+v", done)
	}
	if text, described := metadata(t, server); text != `{"members":[{"name":"BuildDate","value":"2026-10-01"}]}` || !described {
		t.Errorf("%q %t", text, described)
	}
	if done := mustPublish(t, newPublisher(t, server.Endpoint, h, nil), Request{}); done.Result != report.UploadUnchanged {
		t.Errorf("%+v", done)
	}
}

func TestAPublisherThatWasToldLessTakesNothingBack(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	p, q := newPublisher(t, server.Endpoint, a, nil), newPublisher(t, server.Endpoint, b, nil)
	record := a.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	a.show(told(record, "2026-10-01"))
	mustPublish(t, p, Request{})
	b.show(record)
	if done := mustPublish(t, q, Request{}); done.Result != report.UploadUnchanged {
		t.Errorf("%+v", done)
	}
	record.Orders.Pin = "2026.10" // the entry changes, and not the record
	b.show(record)
	if done := mustPublish(t, q, Request{}); done.Result != report.Uploaded {
		t.Errorf("%+v", done)
	}
	if text, described := metadata(t, server); !strings.Contains(text, "2026-10-01") || !described {
		t.Errorf("%q %t", text, described)
	}
}
