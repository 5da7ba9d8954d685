package provider

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"syncd/bench/internal/link"
)

func TestNginxCountsBytesOfFilesThatItSent(t *testing.T) {
	for name, over := range map[string]link.Link{
		"plain through the proxy": {Rate: 100 << 20},
		"https":                   {HTTPS: true},
		"https through the proxy": {HTTPS: true, RoundTrip: 2 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(t.Context(), t.TempDir(), []int64{5000, 3 * MiB}, over)
			if errors.Is(err, ErrNoNginx) {
				t.Skipf("NOT TESTED: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			fetch(t, p, Address(p, "Download", p.Files()[0]))
			if err := p.Forget(); err != nil {
				t.Fatal(err)
			}
			fetch(t, p, p.URL()+"/Manifest/"+Release+"/"+Manifest)
			if got := fetch(t, p, Address(p, "Download", p.Files()[1])); int64(got) != 3*MiB {
				t.Errorf("%d bytes", got)
			}
			// nginx counts the frames of HTTP/2, too.
			if sent, err := p.Sent(t.Context()); err != nil || sent < 3*MiB || sent > 3*MiB+10*KiB {
				t.Errorf("sent %d, %v", sent, err)
			}
		})
	}
}

func fetch(t *testing.T, p Provider, url string) int {
	t.Helper()
	cmd := exec.Command("curl", "-sSfL", url)
	cmd.Env = append(os.Environ(), "CURL_CA_BUNDLE="+p.CAFile())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return len(out)
}

func TestContentFromOneGibibyteOnHasHole(t *testing.T) {
	path := t.TempDir() + "/content"
	if err := writeContent(path, 1, GiB); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != GiB {
		t.Fatalf("%v, %v", info.Size(), err)
	}
	head := make([]byte, 4*KiB)
	if _, err := io.ReadFull(f, head); err != nil || strings.Trim(string(head), "\x00") == "" {
		t.Errorf("the content begins with zeros: %v", err)
	}
}

func TestSpreadGrowsFromSmallestToLargest(t *testing.T) {
	sizes := Spread(60, KiB, 128*MiB)
	if len(sizes) != 60 || sizes[0] != KiB || sizes[59] != 128*MiB {
		t.Errorf("%d sizes from %d to %d", len(sizes), sizes[0], sizes[len(sizes)-1])
	}
}
