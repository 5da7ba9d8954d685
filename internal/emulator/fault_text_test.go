package emulator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseFault(t *testing.T) {
	tests := []struct {
		text string
		want Fault
	}{
		{"kind=status,status=503,path=/Manifest/*,times=2,retry_after=5", Fault{Kind: KindStatus, Status: 503, Path: "/Manifest/*", Times: 2, RetryAfter: "5"}},
		{"kind=status", Fault{Kind: KindStatus}},
		{" KIND=no_ranges, host=download,\n", Fault{Kind: KindNoRanges, Host: HostDownload}},
		{"kind=delay,delay=1m30s,skip=3", Fault{Kind: KindDelay, Delay: 90 * time.Second, Skip: 3}},
		{"kind=corrupt,after=4294967296", Fault{Kind: KindCorrupt, After: 1 << 32}},
		{"kind=slow,rate=1000", Fault{Kind: KindSlow, Rate: 1000}},
		{"kind=redirect,location=https://a.example/?x=1", Fault{Kind: KindRedirect, Location: "https://a.example/?x=1"}},
		{`kind=body,body="a,\"b\"\n",status=200`, Fault{Kind: KindBody, Body: "a,\"b\"\n", Status: 200}},
		{`kind=status,retry_after="Wed, 21 Oct 2026 07:28:00 GMT",type=expiredLicense,shape=type`,
			Fault{Kind: KindStatus, RetryAfter: "Wed, 21 Oct 2026 07:28:00 GMT", Type: "expiredLicense", Shape: "type"}},
	}
	for _, tt := range tests {
		got, err := ParseFault(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.text, diff)
		}
		if again, err := ParseFault(got.String()); err != nil || again != got {
			t.Errorf("%s does not come back: %v", got, err)
		}
	}
}

func TestParseFaultErrors(t *testing.T) {
	tests := map[string]string{
		"":                                "kind is missing: use one of bad_range, body, ",
		"status":                          `"status" is not key=value`,
		"kind=status,colour=red":          `unknown key "colour": use one of kind, path, host, `,
		"kind=nothing":                    `unknown kind "nothing": use one of bad_range, `,
		"kind=status,status=abc":          `status: "abc" is not a whole number`,
		"kind=status,status=99":           "status 99 is not within",
		"kind=status,status=200,status=1": "status is given twice",
		"kind=status,shape=round":         `unknown shape "round": use one of type, `,
		"kind=shape,shape=round":          `unknown shape "round": use one of echo, `,
		"kind=shape":                      `unknown shape "": use one of`,
		"kind=stall,status=500":           "kind stall does not take status: it takes kind, path, host, skip, times, after",
		"kind=delay":                      "kind delay needs delay",
		"kind=delay,delay=5":              `delay: "5" is not a duration such as 2s`,
		"kind=slow":                       "kind slow needs rate",
		"kind=redirect":                   "kind redirect needs location",
		"kind=stall,after=-1":             "must not be negative",
		"kind=stall,host=moon":            `unknown host "moon": use one of release, download`,
		"kind=stall,path=[":               `path "[" is not a valid glob`,
		`kind=body,body="a`:               "body: the closing quote is missing",
		`kind=body,body="a"b`:             "body: a comma must follow the closing quote",
	}
	for text, want := range tests {
		if _, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A parsed fault passes check, and its text form gives the same fault.
func FuzzParseFault(f *testing.F) {
	f.Add("kind=status,status=503,path=/Manifest/*,times=2,retry_after=5")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			return
		}
		must(t, fault.check())
		again, err := ParseFault(fault.String())
		if err != nil || again != fault {
			t.Fatalf("%#v gives %s, which gives %#v, %v", fault, fault, again, err)
		}
		globMatch(fault.Path, text)
	})
}

func TestGlobMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"/Download/*", "/download/Data/2026.10/a", true},
		{"/Download/*", "/Manifest/2026.10/a", false},
		{"*/mdAddr.dat", "/files/abc/MDADDR.DAT", true},
		{"*", "/", true},
		{"/a?b", "/a/b", true},
		{"/[ab]/*.txt", "/b/x.txt", true},
		{"/a", "/a/b", false},
	}
	for _, tt := range tests {
		if got := globMatch(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s of %s: %v", tt.pattern, tt.name, got)
		}
	}
}

func TestEveryKindIsUsable(t *testing.T) {
	for _, kind := range Kinds() {
		f := Fault{Kind: kind, Delay: 1, Rate: 1, Location: "self"}
		if kind == KindDate {
			f.Date = "none"
		}
		if kind == KindShape {
			f.Shape = "null"
		}
		if err := f.check(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
