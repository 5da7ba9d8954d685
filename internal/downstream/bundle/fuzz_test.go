package bundle

import (
	"bytes"
	"strings"
	"testing"

	"syncd/internal/manifest/refusal"
)

// FuzzOpen reads a volume of any bytes. The head is made to fit, so that the rest is reached.
func FuzzOpen(f *testing.F) {
	_, members := sample(f, 7, release{"dq_one", map[string]string{"a": "1", "b": strings.Repeat("b", 700)}})
	good := written(f, members, 0)[0]
	f.Add(good[headSize:])
	f.Add(good[headSize : len(good)-trailer])
	f.Add(bytes.ReplaceAll(good[headSize:], []byte("objects/"), []byte("../../x/")))
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := parseHead(good)
		if err != nil {
			t.Fatal(err)
		}
		h.Bytes = int64(headSize + len(body))
		v := append(h.bytes(), body...)
		file := File{"fuzz.tar", int64(len(v)), bytes.NewReader(v)}
		b, err := Open(t.Context(), []File{file}, Whole)
		if (err == nil) != (b != nil) || err != nil && refusal.ReasonOf(err) == "" {
			t.Fatalf("%v, %v", b, err)
		}
		if err == nil && !bytes.Equal(body, good[headSize:]) {
			t.Fatal("other bytes are the same bundle")
		}
	})
}

func FuzzParseHead(f *testing.F) {
	f.Add(head{Volume: 1, Volumes: 1, Bytes: overhead}.bytes())
	f.Add(head{Volume: 2, Volumes: 3, Bytes: 1 << 20, Limit: 4 << 30}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHead(data)
		if err == nil && !bytes.Equal(h.bytes(), data[:headSize]) {
			t.Fatalf("%+v has other bytes", h)
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	f.Add([]byte(receiptHeader + "\nhost a\ncontents 0\n"))
	f.Add([]byte(receiptHeader + "\nhost a\ncontents 1\n" + strings.Repeat("a", 64) + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReceipt(data)
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := r.Write(&text); err != nil || !bytes.Equal(text.Bytes(), data) {
			t.Fatalf("written again: %q, %v", text.Bytes(), err)
		}
	})
}
