package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"syncd/internal/config/document"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
)

const minimal = `source:
  url: https://releases.example.net
data_dir: /srv/mirror
manifests:
  - name: dq_addr_data
`

// load writes a file with mode 0600 and loads it.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "syncd.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path, Environment{})
}

// parse is Load on the bytes of a file.
func parse(path string, data []byte, env Environment) (*Config, error) {
	return decode(path, data, env, false)
}

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := load(t, text)
	must(t, err)
	return c
}

// problems returns the errors that Load joined.
func problems(err error) []*document.Error {
	var one *document.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*document.Error
		for _, e := range joined.Unwrap() {
			all = append(all, problems(e)...)
		}
		return all
	}
	if errors.As(err, &one) {
		return []*document.Error{one}
	}
	return nil
}

// lines prints problems as LINE:COL KEY: PROBLEM.
func lines(err error) []string {
	var out []string
	for _, p := range problems(err) {
		out = append(out, fmt.Sprintf("%d:%d %s: %s", p.Line, p.Column, p.Key, p.Problem))
	}
	return out
}

func TestMinimalFileGetsTheDefaults(t *testing.T) {
	c := mustLoad(t, "source:\n  url: https://releases.example.net\nmanifests:\n  - name: dq_addr_data\n")
	want := Default()
	if c.DataDir != "/var/lib/syncd" || c.Source.URL.String() != "https://releases.example.net" {
		t.Errorf("data_dir %q, url %q", c.DataDir, c.Source.URL)
	}
	if c.Source.Retry != want.Source.Retry || c.Source.Hash != manifest.SHA256 || c.Source.CustomerIDParam != "id" || c.Source.StallTimeout != 30*time.Second {
		t.Errorf("source %+v", c.Source)
	}
	if c.Jitter != 5*time.Minute || c.RecheckInterval != 24*time.Hour || c.Retain != 2 || c.RetainFor != time.Hour {
		t.Errorf("times %+v", c)
	}
	if !cmp.Equal(c.Transfers, Transfers{Files: 4, Segments: 4, PublishAfter: time.Minute}) || c.Guards != (Guards{MinKeepRatio: 0.5, MaxFileShrink: 0.9, MaxRowsGone: 1}) || !cmp.Equal(c.HTTP, HTTP{Listen: "127.0.0.1:9797"}) {
		t.Errorf("transfers, guards or http %+v", c)
	}
	m := c.Manifests[0]
	if m.Name != "dq_addr_data" || m.Release != "latest" || m.Schedule.String() != "@every 1h" || len(c.Manifests) != 1 {
		t.Errorf("manifests %+v", c.Manifests)
	}
	if len(c.Warnings()) != 0 || c.Services.Prefix != "Provider" || c.Services.List.Retry != c.Source.Retry || c.Services.List.URL != nil {
		t.Errorf("warnings %v, services %+v", c.Warnings(), c.Services)
	}
}

const full = `# everything, away from its default
services:
  prefix: Acme
  contribution: {url: "https://contribution.example.net/V4/WEB", customer_id: 0042}
  list: {url: "https://list.example.net/web/V1", customer_id_file: list_id}
  property: {url: "http://property.example.net/v4/WEB", allow_insecure_http: true}
  autocomplete: {url: "https://a.example.net/web", jsonp_url: "https://a.example.net/jsonp", ca_file: a.pem, proxy: "socks5h://p", client_cert: a.crt, client_key: a.key}
  reversegeo: {url: "https://r.example.net/v3", stall_timeout: 7s, retry: {max_elapsed: 9s}}
source:
  url: https://releases.example.net:8443/base
  customer_id_file: secrets/id
  customer_id_param: ID
  hash: md5
  ca_file: roots.pem
  proxy: http://me:pw@proxy.example.net:3128
  client_cert: own.pem
  client_key: /etc/syncd/own.key
  allow_insecure_http: false
  stall_timeout: 1m
  min_rate: {rate: 2KiB/s, over: 3m}
  retry: {initial_interval: 1s, max_interval: 1s, max_elapsed: 1h}
data_dir: mirror
schedule: "CRON_TZ=America/Los_Angeles  0 3 * * *"
jitter: 0
recheck_interval: 12h
transfers: {files: 64, segments: 16, bandwidth: 50MiB/s, publish_after: 10s, cache: keep}
retain: 0
retain_for: 0s
guards: {min_keep_ratio: 1, min_bytes_ratio: 0.25, max_file_shrink: 50%, max_rows_gone: 10%}
scrub: {schedule: "0 4 * * SUN", rate: 0}
http: {listen: ":9797", web_config: web.yaml}
manifests:
  - name: dq_addr_data
    release: 2026-10
    os: [LINUX, windows]
    compiler: GCC48
    language: [JAVA]
    architecture: 64BIT
    include: ["*.so", "linux/*/64bit/*"]
    exclude: "*.tmp"
  - {name: 1e5, release: 2026.10, schedule: "@every 30m"}
  - {name: "null", release: LATEST}
  - {name: q, release: 2026.q4}
  - {name: suite_zip, product: DataQualitySuite, tag: NET7}
  - name: extras
    files: [data/LATEST/ews.txt, "Library/LINUX/GCC48/64BIT/2026-10/libmdAddr.so", Product/2026.q4/all]
views:
  - name: refdata
    manifests: [dq_addr_data, q]
    layout: MAP
    map_files: {q: maps/q.map, dq_addr_data: /etc/syncd/a.map}
    hash_files: true
    export: /srv/refdata/
  - {name: everything, layout: native}
permissions: {files: 0440, directories: "0750", group: 1234}
removed: drop
`

func TestLoadReadsEveryKey(t *testing.T) {
	c := mustLoad(t, full)
	dir := filepath.Dir(c.Path)
	wd, err := os.Getwd()
	must(t, err)
	s := c.Services
	got := map[string]any{
		"data_dir": c.DataDir, "url": c.Source.URL.String(), "param": c.Source.CustomerIDParam, "hash": c.Source.Hash,
		"ca_file": c.Source.CAFile, "stall": c.Source.StallTimeout, "retry": c.Source.Retry, "min_rate": c.Source.MinRate, "schedule": c.Schedule.String(),
		"jitter": c.Jitter, "recheck": c.RecheckInterval, "transfers": c.Transfers, "retain": c.Retain, "retain_for": c.RetainFor,
		"scrub": c.Scrub.Schedule.String(), "scrub rate": c.Scrub.Rate, "keep": c.Guards, "proxy": c.Source.Proxy.String(), "pair": []string{c.Source.ClientCert, c.Source.ClientKey},
		"own proxy": s.Autocomplete.Proxy.String(), "own pair": []string{s.Autocomplete.ClientCert, s.Autocomplete.ClientKey}, "inherited proxy": s.List.Proxy.Host, "inherited pair": []string{s.List.ClientCert, s.List.ClientKey},
		"http": c.HTTP, "prefix": s.Prefix, "jsonp": s.Autocomplete.JSONPURL.String(),
		"own ca": s.Autocomplete.CAFile, "inherited ca": s.List.CAFile, "own stall": s.ReverseGeo.StallTimeout,
		"inherited stall": s.List.StallTimeout, "mixed retry": s.ReverseGeo.Retry, "insecure": s.Property.AllowInsecureHTTP,
	}
	want := map[string]any{
		"data_dir": filepath.Join(wd, "mirror"), "url": "https://releases.example.net:8443/base", "param": "ID", "hash": manifest.MD5,
		"ca_file": filepath.Join(dir, "roots.pem"), "stall": time.Minute, "retry": Retry{time.Second, time.Second, time.Hour}, "min_rate": MinRate{2 << 10, 3 * time.Minute}, "schedule": "CRON_TZ=America/Los_Angeles 0 3 * * *",
		"jitter": time.Duration(0), "recheck": 12 * time.Hour, "transfers": Transfers{64, 16, rate.Always(50 << 20), 10 * time.Second, true}, "retain": 0, "retain_for": time.Duration(0),
		"scrub": "0 4 * * SUN", "scrub rate": int64(0), "keep": Guards{MinKeepRatio: 1, MinBytesRatio: 0.25, MaxFileShrink: 0.5, MaxRowsGone: 0.1}, "proxy": "http://me:pw@proxy.example.net:3128", "pair": []string{filepath.Join(dir, "own.pem"), "/etc/syncd/own.key"},
		"own proxy": "socks5h://p", "own pair": []string{filepath.Join(dir, "a.crt"), filepath.Join(dir, "a.key")}, "inherited proxy": "proxy.example.net:3128", "inherited pair": []string{filepath.Join(dir, "own.pem"), "/etc/syncd/own.key"},
		"http": HTTP{":9797", filepath.Join(dir, "web.yaml"), nil}, "prefix": "Acme", "jsonp": "https://a.example.net/jsonp",
		"own ca": filepath.Join(dir, "a.pem"), "inherited ca": filepath.Join(dir, "roots.pem"), "own stall": 7 * time.Second,
		"inherited stall": time.Minute, "mixed retry": Retry{time.Second, time.Second, 9 * time.Second}, "insecure": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	la, every := c.Schedule, c.Manifests[1].Schedule
	manifests := []Manifest{
		{Name: "dq_addr_data", Release: "2026.10", Schedule: la, Filter: manifest.Filter{
			OS: []string{"LINUX", "windows"}, Compiler: []string{"GCC48"}, Language: []string{"JAVA"}, Architecture: []string{"64BIT"},
			Include: []string{"*.so", "linux/*/64bit/*"}, Exclude: []string{"*.tmp"}}},
		{Name: "1e5", Release: "2026.10", Schedule: every},
		{Name: "null", Release: "latest", Schedule: la},
		{Name: "q", Release: "2026.Q4", Schedule: la},
		{Name: "suite_zip", Product: "DataQualitySuite", Tag: "NET7", Release: "latest", Schedule: la},
		{Name: "extras", Release: "latest", Schedule: la, Files: []manifest.Reference{
			manifest.Parts{Class: manifest.Data, Release: "latest", Name: "ews.txt"}.Reference(),
			manifest.Parts{Class: manifest.Library, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Release: "2026.10", Name: "libmdAddr.so"}.Reference(),
			manifest.Parts{Class: manifest.Product, Release: "2026.Q4", Name: "all"}.Reference(),
		}},
	}
	views := []View{
		{Name: "refdata", Manifests: []string{"dq_addr_data", "q"}, Layout: layout.ByMap, HashFiles: true, Export: "/srv/refdata", MapFiles: []MapFile{
			{Manifest: "q", Path: filepath.Join(dir, "maps/q.map")}, {Manifest: "dq_addr_data", Path: "/etc/syncd/a.map"},
		}},
		{Name: "everything", Layout: layout.Native, Manifests: []string{"dq_addr_data", "1e5", "null", "q", "suite_zip", "extras"}},
	}
	if diff := cmp.Diff(views, c.Views, cmpopts.IgnoreUnexported(MapFile{})); diff != "" {
		t.Error(diff)
	}
	if want := (Permissions{Files: 0o440, Directories: 0o750, Group: 1234}); c.Permissions != want || !c.DropRemoved {
		t.Errorf("permissions %v, removed %v", c.Permissions, c.DropRemoved)
	}
	if diff := cmp.Diff(manifests, c.Manifests); diff != "" || every.String() != "@every 30m" {
		t.Error(every, diff)
	}
}

// with returns a small file with more lines in source, at the top and in the manifest.
func with(source, top, manifest string) string {
	return "source:\n  url: https://releases.example.net\n" + source + "manifests:\n  - name: a\n" + manifest + top
}

func TestLoadReportsEveryProblemWithItsPosition(t *testing.T) {
	source := func(s string) string { return with("  "+s+"\n", "", "") }
	top := func(s string) string { return with("", s+"\n", "") }
	entry := func(s string) string { return with("", "", "    "+s+"\n") }
	url := func(s string) string { return "source: {url: \"" + s + "\"}\nmanifests: [{name: a}]\n" }
	names := func(s string) string { return "source: {url: \"https://h\"}\nmanifests: [" + s + "]\n" }
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown key near", source("hahs: SHA256"), []string{"3:3 source.hahs: unknown key"}},
		{"unknown key shown", top("colour: red"), []string{"5:1 colour: unknown key"}},
		{"unknown key hidden", source("S3cret: red"), []string{"3:3 source: unknown key"}},
		{"unknown key hidden at top", top("S3cret: red"), []string{"5:1 : unknown key"}},
		{"unknown number as key", top("12: red"), []string{"5:1 : unknown key"}},
		{"duplicate key", source("url: https://b"), []string{"3:3 source.url: is set twice, first in line 2"}},
		{"duplicate top", top("manifests: [{name: b}]"), []string{"5:1 manifests: is set twice, first in line 3"}},
		{"duplicate in flow", top("retain: 1\nguards: {min_keep_ratio: 1, min_keep_ratio: 0}"), []string{"6:29 guards.min_keep_ratio: is set twice, first in line 6"}},
		{"source missing", "manifests:\n  - name: a\n", []string{"1:1 source.url: is missing"}},
		{"source empty", "source:\nmanifests:\n  - name: a\n", []string{"1:1 source.url: is missing"}},
		{"source a word", "source: x\nmanifests:\n  - name: a\n", []string{"1:9 source: must be a mapping"}},
		{"url missing", "source:\n  hash: MD5\nmanifests:\n  - name: a\n", []string{"2:3 source.url: is missing"}},
		{"manifests missing", "source: {url: \"https://h\"}\n", []string{"1:1 manifests: is missing"}},
		{"manifests null", "source: {url: \"https://h\"}\nmanifests:\n", []string{"2:1 manifests: is missing"}},
		{"manifests empty", names(""), []string{"2:12 manifests: is empty"}},
		{"manifests a mapping", "source: {url: \"https://h\"}\nmanifests: {name: a}\n", []string{"2:13 manifests: must be a list"}},
		{"manifest a word", names("a"), []string{"2:13 manifests[0]: must be a mapping"}},
		{"name missing", names("{release: latest}"), []string{"2:14 manifests[0].name: is missing"}},
		{"all found, by position", "data_dir: ''\nmanifests:\n  - name: a\n    os: [b/c, '']\njitter: x\nsource: {url: 'ftp://h'}\nretain: -1\n", []string{
			"1:11 data_dir: is empty", "4:10 manifests[0].os[0]: is not a plain word", "4:15 manifests[0].os[1]: is not a plain word",
			"5:9 jitter: is not a duration", "6:15 source.url: is not an http or https URL", "7:9 retain: is out of range: -1"}},

		{"url empty", url(""), []string{"1:15 source.url: is empty"}},
		{"url relative", url("/a"), []string{"1:15 source.url: is not an http or https URL"}},
		{"url broken", url("https://h:x"), []string{"1:15 source.url: is not a URL"}},
		{"url port", url("https://h:70000"), []string{"1:15 source.url: its port is out of range"}},
		{"url no host", url("https:///a"), []string{"1:15 source.url: has no host"}},
		{"url only port", url("https://:1"), []string{"1:15 source.url: has no host"}},
		{"url opaque", url("https:h"), []string{"1:15 source.url: has no host"}},
		{"url fragment", url("https://h/#"), []string{"1:15 source.url: has a fragment"}},
		{"url with the id", url("https://h/?a=b&ID=x"), []string{"1:15 source.url: its query holds the Customer ID's parameter"}},
		{"url with the id, escaped", url("https://h/?%69d=x"), []string{"1:15 source.url: its query holds the Customer ID's parameter"}},
		{"url with another id param", "source: {url: \"https://h/?key=1\", customer_id_param: Key}\nmanifests: [{name: a}]\n", []string{"1:15 source.url: its query holds the Customer ID's parameter"}},
		{"url with a user", url("https://me@h"), []string{"1:15 source.url: has a user or a password"}},
		{"url with password and query", url("https://me:S3cret@h/?token=S3cret"), []string{"1:15 source.url: has a user or a password"}},
		{"url with a query", url("https://h/?token=S3cret"), []string{"1:15 source.url: has a query"}},
		{"url with an empty query", url("https://h/?"), []string{"1:15 source.url: has a query"}},
		{"service with a query", top("services: {autocomplete: {jsonp_url: 'https://h?a=1'}}"), []string{"5:38 services.autocomplete.jsonp_url: has a query"}},
		{"url insecure", url("http://h"), []string{"1:15 source.url: plain http to a host that is not loopback is insecure: the Customer ID would travel unencrypted"}},
		{"url localhost lookalike", url("http://localhost.example"), []string{"1:15 source.url: plain http to a host that is not loopback is insecure: the Customer ID would travel unencrypted"}},

		{"both ids", source("customer_id: 1234\n  customer_id_file: f"), []string{"4:21 source.customer_id_file: customer_id is set too"}},
		{"id empty", source("customer_id: ' '"), []string{"3:16 source.customer_id: is empty"}},
		{"id nothing", source("customer_id:"), []string{"3:3 source.customer_id: is empty"}},
		{"id too short", source("customer_id: K3Y"), []string{"3:16 source.customer_id: has fewer than 4 characters"}},
		{"id of two lines", source("customer_id: \"a\\nb\""), []string{"3:16 source.customer_id: has more than one line"}},
		{"id with control", source("customer_id: \"a\\tb\""), []string{"3:16 source.customer_id: has control or invisible characters"}},
		{"id a list", source("customer_id: [a]"), []string{"3:16 source.customer_id: must be one value"}},
		{"param", source("customer_id_param: a b"), []string{"3:22 source.customer_id_param: is not the name of a query parameter"}},
		{"hash", source("hash: SHA512"), []string{"3:9 source.hash: is not a hash that the service offers"}},
		{"bool", source("allow_insecure_http: yes"), []string{"3:24 source.allow_insecure_http: is neither true nor false"}},
		{"stall 0", source("stall_timeout: 0s"), []string{"3:18 source.stall_timeout: must be longer than 0"}},
		{"path with control", source("ca_file: \"a\\0b\""), []string{"3:12 source.ca_file: has a control character"}},
		{"proxy no URL", source("proxy: 'http://u:S3cret%zz@h'"), []string{"3:10 source.proxy: is not a URL"}},
		{"proxy scheme", source("proxy: 'proxy.example.net:3128'"), []string{"3:10 source.proxy: is not an http, https, socks5 or socks5h URL"}},
		{"proxy no host", source("proxy: 'http://:3128'"), []string{"3:10 source.proxy: has no host"}},
		{"proxy port", source("proxy: 'http://h:0'"), []string{"3:10 source.proxy: its port is out of range"}},
		{"proxy path", source("proxy: 'http://h/a'"), []string{"3:10 source.proxy: has more than a host and a port"}},
		{"proxy of a service", top("services: {list: {proxy: 'ftp://h'}}"), []string{"5:26 services.list.proxy: is not an http, https, socks5 or socks5h URL"}},
		{"certificate alone", source("client_cert: a"), []string{"3:16 source.client_cert: its key is missing"}},
		{"key alone", source("client_key: a"), []string{"3:15 source.client_key: its certificate is missing"}},
		{"key of a service alone", top("services: {list: {client_key: a}}"), []string{"5:31 services.list.client_key: its certificate is missing"}},
		{"scrub schedule", top("scrub: {schedule: weekly}"), []string{"5:19 scrub.schedule: is not a schedule"}},
		{"scrub rate", top("scrub: {rate: fast}"), []string{"5:15 scrub.rate: is not a size"}},
		{"bytes ratio", top("guards: {min_bytes_ratio: 2}"), []string{"5:27 guards.min_bytes_ratio: is not a number from 0 to 1: 2"}},
		{"retry relation", source("retry: {initial_interval: 2s, max_interval: 1s}"), []string{"3:29 source.retry.initial_interval: is longer than max_interval"}},
		{"retry below default", source("retry: {max_interval: 1ms}"), []string{"3:25 source.retry.max_interval: is shorter than initial_interval"}},
		{"retry, one bad", source("retry: {initial_interval: 1h, max_interval: x}"), []string{"3:47 source.retry.max_interval: is not a duration"}},
		{"retry a word", source("retry: 5s"), []string{"3:10 source.retry: must be a mapping"}},

		{"audit without unit", top("audit: {keep: 2}"), []string{"5:15 audit.keep: is not a duration: 2"}},
		{"audit for too many years", top("audit: {keep: 101y}"), []string{"5:15 audit.keep: is not a duration: 101y"}},
		{"duration without unit", top("jitter: 30"), []string{"5:9 jitter: is not a duration: 30"}},
		{"duration negative", top("retain_for: -1s"), []string{"5:13 retain_for: is negative: -1s"}},
		{"duration nothing", top("jitter:"), []string{"5:1 jitter: is not a duration"}},
		{"duration a list", top("jitter: [1s]"), []string{"5:9 jitter: must be one value"}},
		{"recheck 0", top("recheck_interval: 0"), []string{"5:19 recheck_interval: must be longer than 0"}},
		{"files", top("transfers: {files: 65, segments: 0}"), []string{"5:20 transfers.files: is out of range: 65", "5:34 transfers.segments: is out of range: 0"}},
		{"files a fraction", top("transfers: {files: 1.5}"), []string{"5:20 transfers.files: is not a whole number: 1.5"}},
		{"min_rate over", source("min_rate: {over: 0s}"), []string{"3:20 source.min_rate.over: must be longer than 0"}},
		{"min_rate one value", source("min_rate: 1KiB"), []string{"3:13 source.min_rate: must be a mapping"}},
		{"bandwidth", top("transfers: {bandwidth: fast}"), []string{"5:24 transfers.bandwidth: is not a size"}},
		{"bandwidth negative", top("transfers: {bandwidth: -5MiB}"), []string{"5:24 transfers.bandwidth: is not a size: -5MiB"}},
		{"bandwidth huge", top("transfers: {bandwidth: 15EiB}"), []string{"5:24 transfers.bandwidth: is too large: 15EiB"}},
		{"bandwidth tiny", top("transfers: {bandwidth: 0.1B}"), []string{"5:24 transfers.bandwidth: is less than one byte per second: 0.1B"}},
		{"timetable time", top("transfers: {bandwidth: '8:00,20MiB'}"), []string{"5:24 transfers.bandwidth: has an entry whose time is not HH:MM"}},
		{"timetable day", top("transfers: {bandwidth: 'Mo-08:00,20MiB'}"), []string{"5:24 transfers.bandwidth: has an entry whose day is not one of Mon, Tue, Wed, Thu, Fri, Sat and Sun"}},
		{"timetable rate", top("transfers: {bandwidth: '08:00,fast 18:00,off'}"), []string{"5:24 transfers.bandwidth: is not a size"}},
		{"timetable without a unit", top("transfers: {bandwidth: '08:00,512 18:00,off'}"), []string{"5:24 transfers.bandwidth: has an entry whose rate has no unit, where rclone means KiB"}},
		{"timetable twice", top("transfers: {bandwidth: '08:00,1MiB 08:00,off'}"), []string{"5:24 transfers.bandwidth: has two entries for the same time"}},
		{"ratio", top("guards: {min_keep_ratio: 1.1}"), []string{"5:26 guards.min_keep_ratio: is not a number from 0 to 1: 1.1"}},
		{"file shrink", top("guards: {max_file_shrink: 0.9}"), []string{"5:27 guards.max_file_shrink: is not a percentage above 0%: 0.9"}},
		{"file shrink of nothing", top("guards: {max_file_shrink: 0%}"), []string{"5:27 guards.max_file_shrink: is not a percentage above 0%: 0%"}},
		{"ratio nan", top("guards: {min_keep_ratio: nan}"), []string{"5:26 guards.min_keep_ratio: is not a number from 0 to 1"}},
		{"listen", top("http: {listen: 9797}"), []string{"5:16 http.listen: is not host:port"}},
		{"listen port", top("http: {listen: 'a:65536'}"), []string{"5:16 http.listen: is not host:port"}},
		{"listen host", top("http: {listen: 'a b:1'}"), []string{"5:16 http.listen: its host is neither a name nor an address"}},

		{"schedule", top("schedule: hourly"), []string{"5:11 schedule: is not a schedule"}},
		{"schedule empty", top("schedule: ''"), []string{"5:11 schedule: is not a schedule"}},
		{"schedule of four fields", top("schedule: 0 3 * *"), []string{"5:11 schedule: is not a schedule: it has 4 fields and not 5"}},
		{"schedule minute", top("schedule: 61 3 * * *"), []string{"5:11 schedule: is not a schedule: its field 1, the minute, is wrong: 61"}},
		{"schedule hour", top("schedule: 0 25 * * *"), []string{"5:11 schedule: is not a schedule: its field 2, the hour, is wrong: 25"}},
		{"schedule day", top("schedule: 0 3 32 * *"), []string{"5:11 schedule: is not a schedule: its field 3, the day of the month, is wrong: 32"}},
		{"schedule month", top("schedule: CRON_TZ=UTC 0 3 * S3cret *"), []string{"5:11 schedule: is not a schedule: its field 4, the month, is wrong"}},
		{"schedule weekday", top("schedule: 0 3 * * 8"), []string{"5:11 schedule: is not a schedule: its field 5, the day of the week, is wrong: 8"}},
		{"schedule word", top("schedule: '@dayly'"), []string{"5:11 schedule: is not a schedule: cron has no such word after the @"}},
		{"data_dir the root", top("data_dir: /srv/.."), []string{"5:11 data_dir: is the root of a file system"}},
		{"schedule with seconds", top("schedule: 0 0 3 * * *"), []string{"5:11 schedule: is not a schedule: it has 6 fields and not 5"}},
		{"schedule never", entry("schedule: 0 0 30 2 *"), []string{"5:15 manifests[0].schedule: never runs: its date does not exist"}},
		{"schedule zone", entry("schedule: CRON_TZ=Mars/Olympus 0 3 * * *"), []string{"5:15 manifests[0].schedule: its time zone does not exist"}},
		{"schedule zone alone", top("schedule: CRON_TZ=UTC"), []string{"5:11 schedule: has a time zone and nothing else"}},
		{"schedule zone empty", top("schedule: 'TZ= 0 3 * * *'"), []string{"5:11 schedule: its time zone does not exist"}},
		{"schedule every short", top("schedule: '@every 999ms'"), []string{"5:11 schedule: @every is shorter than one second"}},
		{"schedule every negative", top("schedule: '@every -1h'"), []string{"5:11 schedule: @every is shorter than one second"}},
		{"schedule every word", top("schedule: '@every hour'"), []string{"5:11 schedule: @every needs a duration"}},

		{"name empty", names("{name: ''}"), []string{"2:20 manifests[0].name: is empty"}},
		{"name with slash", names("{name: a/b}"), []string{"2:20 manifests[0].name: is not usable as a name"}},
		{"name dots", names("{name: ..}"), []string{"2:20 manifests[0].name: is not usable as a name"}},
		{"name with dash in front", names("{name: -a}"), []string{"2:20 manifests[0].name: is not usable as a name"}},
		{"name too long", names("{name: " + strings.Repeat("a", 201) + "}"), []string{"2:20 manifests[0].name: is not usable as a name"}},
		{"name twice", names("{name: a}, {name: b}, {name: a}"), []string{"2:42 manifests[2].name: manifests[0] has the same name (case is ignored)"}},
		{"name but for case", names("{name: a}, {name: A}"), []string{"2:31 manifests[1].name: manifests[0] has the same name (case is ignored)"}},
		{"name of a record", names("{name: a.json}, {name: A}"), []string{"2:20 manifests[0].name: is the name of a file that belongs to manifests[1]"}},
		{"name of a sum file", names("{name: a}, {name: a.SHA256SUMS}"), []string{"2:31 manifests[1].name: is the name of a file that belongs to manifests[0]"}},
		{"release month", entry("release: 2026.13"), []string{"5:14 manifests[0].release: is not a release: 2026.13"}},
		{"release short month", entry("release: 2026.1"), []string{"5:14 manifests[0].release: is not a release: 2026.1"}},
		{"release quarter", entry("release: 2026.Q5"), []string{"5:14 manifests[0].release: is not a release: 2026.Q5"}},
		{"release period", entry("release: 2026.B7"), []string{"5:14 manifests[0].release: is not a release: 2026.B7"}},
		{"release null", entry("release: ~"), []string{"5:14 manifests[0].release: is not a release"}},
		{"filter a mapping", entry("os: {LINUX: true}"), []string{"5:10 manifests[0].os: must be a list"}},
		{"filter nested", entry("os: [[LINUX]]"), []string{"5:10 manifests[0].os[0]: must be one value"}},
		{"filter dots", entry("compiler: .."), []string{"5:15 manifests[0].compiler: is not a plain word"}},
		{"glob", entry("include: ['[a']"), []string{"5:15 manifests[0].include[0]: is not a glob"}},
		{"glob empty", entry("exclude: ''"), []string{"5:14 manifests[0].exclude: is not a glob"}},
		{"glob absolute", entry("exclude: /a"), []string{"5:14 manifests[0].exclude: never matches: paths within the manifest do not begin with a slash"}},
		{"glob double star", entry("include: '**/a'"), []string{"5:14 manifests[0].include: ** matches one folder only, as * does"}},

		{"product and files", entry("product: Suite\n    files: [Data/latest/x]"), []string{"6:12 manifests[0].files: product is set too"}},
		{"product empty", entry("product: ''"), []string{"5:14 manifests[0].product: is not the name of a product"}},
		{"product with slash", entry("product: a/b"), []string{"5:14 manifests[0].product: is not the name of a product"}},
		{"product a list", entry("product: [a]"), []string{"5:14 manifests[0].product: must be one value"}},
		{"files empty", entry("files: []"), []string{"5:12 manifests[0].files: is empty"}},
		{"files null", entry("files:"), []string{"5:5 manifests[0].files: is empty"}},
		{"file without release", entry("files: [Data/ews.txt]"), []string{"5:13 manifests[0].files[0]: is not the path of a file"}},
		{"file of no class", entry("files: [Secret/latest/ews.txt]"), []string{"5:13 manifests[0].files[0]: is not the path of a file"}},
		{"file with a bad release", entry("files: [Data/soon/ews.txt]"), []string{"5:13 manifests[0].files[0]: its release is not latest, a month, a quarter or a two-month period"}},
		{"file of the parent folder", entry("files: Data/latest/.."), []string{"5:12 manifests[0].files: is not the path of a file"}},
		{"file twice", entry("files: [Data/2026.10/x, data/2026-10/x]"), []string{"5:29 manifests[0].files[1]: is listed twice"}},
		{"files at one path", entry("files: [Data/2026.09/x, Data/2026.10/x]"), []string{"5:12 manifests[0].files: two of its files have the same path, or paths that differ only in case"}},
		{"files that differ in case", entry("files: [Data/latest/x, Data/latest/X]"), []string{"5:12 manifests[0].files: two of its files have the same path, or paths that differ only in case"}},
		{"tag of a manifest", entry("tag: NET7"), []string{"5:10 manifests[0].tag: is only for an entry with product or files"}},
		{"tag with an escape", entry("product: a\n    tag: a&b"), []string{"6:10 manifests[0].tag: is not a tag"}},

		{"views a word", top("views: refdata"), []string{"5:8 views: must be a list"}},
		{"view a word", top("views: [refdata]"), []string{"5:9 views[0]: must be a mapping"}},
		{"view without name", top("views: [{layout: flat}]"), []string{"5:10 views[0].name: is missing"}},
		{"view with a path as name", top("views: [{name: ../a}]"), []string{"5:16 views[0].name: is not usable as a name"}},
		{"view named as a manifest", top("views: [{name: A}]"), []string{"5:16 views[0].name: manifests[0] has the same name (case is ignored)"}},
		{"view named as a record", top("views: [{name: a.json}]"), []string{"5:16 views[0].name: is the name of a file that belongs to manifests[0]"}},
		{"manifest named as a view's sums", with("", "  - name: b.SHA256SUMS\nviews: [{name: b}]\n", ""), []string{"5:11 manifests[1].name: is the name of a file that belongs to views[0]"}},
		{"two views of one name", top("views: [{name: b}, {name: B}]"), []string{"5:27 views[1].name: views[0] has the same name (case is ignored)"}},
		{"view of another manifest", top("views: [{name: b, manifests: [a, A, c]}]"), []string{"5:34 views[0].manifests[1]: is not in manifests", "5:37 views[0].manifests[2]: is not in manifests"}},
		{"view of one other manifest", top("views: [{name: b, manifests: c}]"), []string{"5:30 views[0].manifests: is not in manifests"}},
		{"view with a manifest twice", top("views: [{name: b, manifests: [a, a]}]"), []string{"5:34 views[0].manifests[1]: is listed twice"}},
		{"layout", top("views: [{name: b, layout: nested}]"), []string{"5:27 views[0].layout: is not a layout"}},
		{"layout map without maps", top("views: [{name: b, layout: map}]"), []string{"5:27 views[0].layout: needs map_files"}},
		{"maps without layout map", top("views: [{name: b, map_files: {a: x}}]"), []string{"5:31 views[0].map_files: is only for layout: map"}},
		{"maps a list", top("views: [{name: b, layout: map, map_files: [a]}]"), []string{"5:43 views[0].map_files: must be a mapping"}},
		{"map of another manifest", top("views: [{name: b, layout: map, map_files: {c: x}}]"), []string{"5:44 views[0].map_files[0]: names a manifest that the view does not have"}},
		{"two maps of a manifest", top("views: [{name: b, layout: map, map_files: {a: x, a: y}}]"), []string{"5:50 views[0].map_files.a: has two maps for one manifest"}},
		{"map without a path", top("views: [{name: b, layout: map, map_files: {a: ''}}]"), []string{"5:47 views[0].map_files.a: is empty"}},
		{"hash_files", top("views: [{name: b, hash_files: maybe}]"), []string{"5:31 views[0].hash_files: is neither true nor false"}},
		{"export relative", top("views: [{name: b, export: srv}]"), []string{"5:27 views[0].export: is not an absolute path of a folder"}},
		{"export of the root", top("views: [{name: b, export: /srv/..}]"), []string{"5:27 views[0].export: is not an absolute path of a folder"}},
		{"export in data_dir", top("data_dir: /srv/a\nviews: [{name: b, export: /srv/a/b}]"), []string{"6:27 views[0].export: is inside data_dir, or data_dir is inside it"}},
		{"export around data_dir", top("data_dir: /data/a\nviews: [{name: b, export: /data}]"), []string{"6:27 views[0].export: is inside data_dir, or data_dir is inside it"}},
		{"export of data_dir", top("views: [{name: b, export: /var/lib/syncd/}]"), []string{"5:27 views[0].export: is inside data_dir, or data_dir is inside it"}},
		{"export of the system", top("views: [{name: b, export: /etc/}]"), []string{"5:27 views[0].export: is a folder of the operating system"}},
		{"export of a home", top("views: [{name: b, export: /home/alice}]"), []string{"5:27 views[0].export: is a folder of the operating system"}},
		{"export named as another's work folder", top("views: [{name: b, export: /x/a}, {name: c, export: /x/.a.syncd}]"), []string{"5:52 views[1].export: is where the export of views[0] keeps its trees"}},
		{"export in the work folder of a later one", top("views: [{name: b, export: /x/.a.syncd/t}, {name: c, export: /x/a}]"), []string{"5:27 views[0].export: is where the export of views[1] keeps its trees"}},
		{"export named as another's kept folder", top("views: [{name: b, export: /x/a}, {name: c, export: /x/a.before-syncd}]"), []string{"5:52 views[1].export: is where the export of views[0] keeps its trees"}},
		{"export with data_dir as work folder", top("data_dir: /x/.a.syncd\nviews: [{name: b, export: /x/a}]"), []string{"6:27 views[0].export: keeps its trees in data_dir"}},
		{"two exports to one folder", top("views: [{name: b, export: /x}, {name: c, export: /x/}]"), []string{"5:50 views[1].export: overlaps the export of views[0]"}},
		{"export in an export", top("views: [{name: b, export: /x}, {name: c, export: /x/y}]"), []string{"5:50 views[1].export: overlaps the export of views[0]"}},
		{"export around an export", top("views: [{name: b, export: /x/y}, {name: c, export: /x}]"), []string{"5:52 views[1].export: overlaps the export of views[0]"}},
		{"files that can be written", top("permissions: {files: '0644'}"), []string{"5:22 permissions.files: lets someone write: published files never change"}},
		{"files that syncd cannot read", top("permissions: {files: '0044'}"), []string{"5:22 permissions.files: does not let syncd read the files"}},
		{"files of a set-user-id mode", top("permissions: {files: '4555'}"), []string{"5:22 permissions.files: is not an octal mode"}},
		{"files by letters", top("permissions: {files: r--r--r--}"), []string{"5:22 permissions.files: is not an octal mode"}},
		{"directories that others can write", top("permissions: {directories: '0775'}"), []string{"5:28 permissions.directories: lets others write: only syncd may change the mirror"}},
		{"directories that syncd cannot write", top("permissions: {directories: '0555'}"), []string{"5:28 permissions.directories: does not let syncd change the directories"}},
		{"directories with 9", top("permissions: {directories: '0799'}"), []string{"5:28 permissions.directories: is not an octal mode"}},
		{"group unknown", top("permissions: {group: no such group}"), []string{"5:22 permissions.group: is not a group of this system"}},
		{"group negative", top("permissions: {group: -1}"), []string{"5:22 permissions.group: is not a group of this system"}},
		{"removed", top("removed: maybe"), []string{"5:10 removed: is neither keep nor drop"}},

		{"service unknown", top("services: {liszt: {url: 'https://h'}}"), []string{"5:12 services.liszt: unknown key"}},
		{"service jsonp elsewhere", top("services: {list: {jsonp_url: 'https://h'}}"), []string{"5:19 services.list.jsonp_url: unknown key"}},
		{"tracing plain", top("tracing: {endpoint: 'http://collector:4318'}"), []string{"5:21 tracing.endpoint: plain http to a host that is not loopback is insecure"}},
		{"tracing secret", top("tracing: {endpoint: 'https://user:secret@h'}"), []string{"5:21 tracing.endpoint: has a user, a password or a query"}},
		{"tracing no url", top("tracing: {endpoint: 'collector:4318'}"), []string{"5:21 tracing.endpoint: is not an http or https URL"}},
		{"service insecure", top("services: {list: {url: 'http://h'}}"), []string{"5:24 services.list.url: plain http to a host that is not loopback is insecure: the Customer ID would travel unencrypted"}},
		{"service with the id", top("services: {autocomplete: {jsonp_url: 'https://h?id=1'}}"), []string{"5:38 services.autocomplete.jsonp_url: its query holds the Customer ID's parameter"}},
		{"service both ids", top("services: {list: {customer_id: abcd, customer_id_file: b}}"), []string{"5:56 services.list.customer_id_file: customer_id is set too"}},
		{"service retry against source's", top("services: {list: {retry: {initial_interval: 1m}}}"), []string{"5:45 services.list.retry.initial_interval: is longer than max_interval"}},
		{"service prefix", top("services: {prefix: a b}"), []string{"5:20 services.prefix: is not a word"}},

		{"empty file", "", []string{"0:0 : holds no configuration"}},
		{"only comments", "# nothing\n", []string{"0:0 : holds no configuration"}},
		{"a list", "- a\n", []string{"1:1 : is not a mapping at its top level"}},
		{"a word", "a\n", []string{"1:1 : is not a mapping at its top level"}},
		{"two documents", minimal + "---\na: b\n", []string{"6:1 : holds more than one YAML document"}},
		{"two headers", "---\n---\n" + minimal, []string{"2:1 : holds more than one YAML document"}},
		{"after the end", minimal + "...\na: b\n", []string{"7:1 : holds more than one YAML document"}},
		{"anchor", top("schedule: &a x"), []string{"5:11 : holds an anchor (&), which is not supported"}},
		{"alias", top("schedule: *a"), []string{"5:11 : holds an alias (*), which is not supported"}},
		{"tag", top("schedule: !!str x"), []string{"5:11 : holds a tag (!), which is not supported"}},
		{"merge", top("<<: {jitter: 1s}"), []string{"5:1 : holds a merge key (<<), which is not supported"}},
		{"directive", "%YAML 1.2\n---\n" + minimal, []string{"1:1 : holds a directive (%), which is not supported"}},
		{"explicit key", top("? a\n: b"), []string{"5:1 : holds an explicit key (?), which is not supported"}},
		{"tab", top("http:\n\tlisten: a"), []string{"6:1 : is not valid YAML"}},
		{"open quote", top("schedule: \"a"), []string{"5:11 : is not valid YAML"}},
		{"not UTF-8", "source:\n  url: \xff\n", []string{"2:8 : is not UTF-8 text"}},
		{"control character", "source:\n  url: a\x00\n", []string{"2:9 : has a control character"}},
		{"positions with CR LF and comments", strings.ReplaceAll(with("  # c\n  hash: MD5 # c\n", "jitter: x # é\n", ""), "\n", "\r\n"), []string{"7:9 jitter: is not a duration"}},
		{"position after a long value", top("http:\n  web_config: \"a\n    b\"\njitter: x"), []string{"8:9 jitter: is not a duration"}},
		{"position after a block", source("ca_file: |-\n    a\n  hash: x"), []string{"5:9 source.hash: is not a hash that the service offers"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load(t, tt.text)
			if diff := cmp.Diff(tt.want, lines(err)); diff != "" || c != nil {
				t.Errorf("config %v, problems (-want +got):\n%s", c != nil, diff)
			}
			for _, p := range problems(err) {
				if p.Suggestion == "" || strings.Contains(p.Error(), "\n") {
					t.Errorf("without a next step, or not one line: %q", p)
				}
			}
		})
	}
}

func TestLoadAcceptsValidFiles(t *testing.T) {
	tests := []struct{ name, text string }{
		{"byte order mark", "\uFEFF" + minimal},
		{"one document with header and end", "---\n" + minimal + "...\n"},
		{"loopback name", strings.Replace(minimal, "https://releases.example.net", "http://LOCALHOST:8080", 1)},
		{"loopback v4", strings.Replace(minimal, "https://releases.example.net", "http://127.9.9.9", 1)},
		{"loopback v6", strings.Replace(minimal, "https://releases.example.net", "'http://[::1]:80'", 1)},
		{"empty sections", minimal + "transfers:\nguards:\nhttp: {}\nservices:\n"},
		{"29 February", minimal + "schedule: 0 0 29 2 *\n"},
		{"hourly", minimal + "schedule: '@hourly'\n"},
		{"min_rate 0", strings.Replace(minimal, "data_dir:", "  min_rate: {rate: 0}\ndata_dir:", 1)},
		{"bandwidth 0", minimal + "transfers: {bandwidth: 0}\n"},
		{"no web server", minimal + "http: {listen: ''}\n"},
		{"v6 listen", minimal + "http: {listen: '[::]:0'}\n"},
		{"empty filters", minimal + "    os: []\n    include:\n"},
		{"views of nothing", minimal + "views:\n"},
		{"view of all", minimal + "views: [{name: b, manifests: []}, {name: c, export: /srv/c}, {name: d, export: /srv/d}]\n"},
		{"export with the data_dir's name in front", minimal + "views: [{name: b, export: /srv/mirror2}]\n"},
		{"group by name", minimal + "permissions: {group: root}\n"},
		{"group unchanged", minimal + "permissions: {group: ''}\n"},
		{"removed", minimal + "removed: keep\n"},
		{"name beside nothing", minimal + "  - name: other.json\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { mustLoad(t, tt.text) })
	}
}

func TestLoadRefusesUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	must(t, os.WriteFile(large, []byte(minimal+strings.Repeat("#\n", 1<<19)), 0o600))
	tests := []struct{ name, path, want string }{
		{"absent", filepath.Join(dir, "absent"), "absent: cannot be read: no such file or directory; name the file with --config or $SYNCD_CONFIG, write one as in /usr/share/doc/syncd/examples/configs/syncd.yaml, or make one with `syncd setup` or `syncd config from-updater`; `syncd demo` needs none"},
		{"directory", dir, ": cannot be read: not a regular file; name the file with --config or $SYNCD_CONFIG"},
		{"over 1 MiB", large, "large.yaml: is larger than 1 MiB; check which file it is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.path, Environment{})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, fs.ErrNotExist) != (tt.name == "absent") {
				t.Errorf("ErrNotExist of %v", err)
			}
		})
	}
}

func TestHostileFilesAreRefusedQuickly(t *testing.T) {
	n := document.MaxFile / 2
	tests := map[string]string{
		"brackets":     strings.Repeat("[", n),
		"braces":       strings.Repeat("{a: ", n/4),
		"dashes":       strings.Repeat("- ", n/2),
		"colons":       strings.Repeat("a: ", n/3),
		"closed":       "a: " + strings.Repeat("[", n/3) + strings.Repeat("]", n/3),
		"questions":    strings.Repeat("? ", n/2),
		"anchors":      strings.Repeat("&a ", n/3),
		"aliases":      "a: &a [" + strings.Repeat("*a, ", n/5) + "]",
		"many keys":    manyKeys(7_000),
		"indentation":  deeper(n),
		"no documents": strings.Repeat("---\n", n/4),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := load(t, text); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	return b.String()
}

func deeper(size int) string {
	var b strings.Builder
	for i := 0; b.Len()+i+3 <= size; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestWarningsNameUnsafeSettings(t *testing.T) {
	inline := strings.Replace(minimal, "data_dir", "  customer_id: S3CRET\ndata_dir", 1)
	tests := []struct {
		name, text string
		mode       fs.FileMode
		want       []string
	}{
		{"id, private", inline, 0o600, nil},
		{"id, group", inline, 0o640, []string{"3:16: source.customer_id: is a secret, and this file can be read by its group or by others; chmod 600 the file, or use customer_id_file"}},
		{"id, others", inline, 0o604, []string{"3:16: source.customer_id: is a secret, and this file can be read by its group or by others; chmod 600 the file, or use customer_id_file"}},
		{"no id, others", minimal, 0o644, nil},
		{"insecure", strings.Replace(minimal, "url: https", "allow_insecure_http: true\n  url: http", 1), 0o644, []string{"3:8: source.url: plain http is insecure: the Customer ID travels unencrypted; use https"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "syncd.yaml")
			must(t, os.WriteFile(path, []byte(tt.text), 0o600))
			if err := os.Chmod(path, tt.mode); err != nil { // because the umask may change the mode of WriteFile
				t.Fatal(err)
			}
			c, err := Load(path, Environment{})
			must(t, err)
			got := c.Warnings()
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], path+":")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExposedKeysAndProxyPasswordsAreWarnedAbout(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "syncd.yaml"), filepath.Join(dir, "own.key")
	text := strings.Replace(minimal, "data_dir", "  proxy: http://me:S3CRET@h\n  client_cert: c\n  client_key: own.key\ndata_dir", 1)
	for _, row := range []struct {
		config, key fs.FileMode
		has         []string
	}{
		{0o600, 0o600, nil},
		{0o600, 0o640, []string{"source.client_key: names a secret that its group or others can read or change"}},
		{0o644, 0o400, []string{"source.proxy: is a secret, and this file can be read"}},
		{0o640, 0o604, []string{"source.proxy: is a secret", "source.client_key: names a secret"}},
	} {
		for name, file := range map[string]struct {
			text string
			mode fs.FileMode
		}{path: {text, row.config}, key: {"key", row.key}} {
			must(t, errors.Join(os.WriteFile(name, []byte(file.text), 0o600), os.Chmod(name, file.mode)))
		}
		c, err := Load(path, Environment{})
		must(t, err)
		got := c.Warnings()
		for i, want := range row.has {
			if len(got) != len(row.has) || !strings.Contains(got[i], want) || strings.Contains(got[i], "S3CRET") {
				t.Errorf("modes %o and %o: %q, want %q", row.config, row.key, got, row.has)
				break
			}
		}
		if len(row.has) == 0 && len(got) > 0 {
			t.Errorf("modes %o and %o: %q", row.config, row.key, got)
		}
	}
}

func TestAFileOfIDsThatOthersCanChangeIsWarnedAbout(t *testing.T) {
	dir := t.TempDir()
	path, ids := filepath.Join(dir, "syncd.yaml"), filepath.Join(dir, "ids")
	must(t, os.WriteFile(path, []byte(minimal+"\nserve: {listen: \"127.0.0.1:9443\", public_url: \"http://127.0.0.1:9443\", ids_file: ids}\n"), 0o600))
	for mode, want := range map[fs.FileMode]string{0o644: "", 0o666: "serve.ids_file: names a file that its group or others can change", 0o664: "chmod go-w"} {
		must(t, errors.Join(os.WriteFile(ids, nil, 0o600), os.Chmod(ids, mode)))
		c, err := Load(path, Environment{})
		must(t, err)
		if got := strings.Join(c.Warnings(), "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("mode %o: %q, want %q", mode, got, want)
		}
	}
}

// The sample configs/syncd.yaml loads, shows the defaults and mentions every key.
func TestSampleConfigShowsEveryKeyWithItsDefault(t *testing.T) {
	const path = "../../configs/syncd.yaml"
	c, err := Load(path, Environment{})
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	mustLoad(t, uncommented(string(text)))
	want := Default()
	want.Path, want.place, want.Source.URL, want.Source.Credential = c.Path, c.place, c.Source.URL, c.Source.Credential
	want.Services.inherit(want.Source)
	want.Manifests = []Manifest{{Name: "dq_addr_data", Release: "latest", Schedule: want.Schedule}}
	if a, b := fmt.Sprintf("%+v", *want), fmt.Sprintf("%+v", *c); a != b {
		t.Errorf("not the defaults:\n%s\n%s", a, b)
	}
	for key := range allKeys(t) {
		if !regexp.MustCompile(`(?m)^[ #-]*` + key + `:`).Match(text) {
			t.Errorf("does not mention %s", key)
		}
	}
}

// uncommented removes the # before keys. It drops customer_id, which must not stand
// beside customer_id_file, and source.s3 and source.bundles, which must not stand beside
// source.url.
func uncommented(text string) string {
	text = regexp.MustCompile(`(?m)^( *)# ((?:  )*(?:- )?[a-z0-9_]+:( .*)?)$`).ReplaceAllString(text, "$1$2")
	return regexp.MustCompile(`(?m)^( *customer_id|  s3|  bundles): .*\n`).ReplaceAllString(text, "")
}

// allKeys collects every key from the suggestions for unknown keys.
func allKeys(t *testing.T) map[string]bool {
	const x = "{Zz9: 1}"
	_, err := load(t, "Zz9: 1\nsource: {Zz9: 1, retry: "+x+"}\ntransfers: "+x+"\nscrub: "+x+"\nguards: "+x+"\nhttp: "+x+"\nserve: {Zz9: 1, rings: ["+x+"]}"+
		"\nservices: {Zz9: 1, list: "+x+", autocomplete: "+x+"}\nmanifests: ["+x+"]\nviews: ["+x+"]\nhooks: ["+x+"]\npermissions: "+x+"\npublish: {s3: "+x+"}\nelection: "+x+"\n")
	found := map[string]bool{}
	for _, p := range problems(err) {
		if list, ok := strings.CutPrefix(p.Suggestion, "the keys here are "); ok {
			for key := range strings.SplitSeq(list, ", ") {
				found[key] = true
			}
		}
	}
	if len(found) < 55 {
		t.Fatalf("only %d keys: %v", len(found), slices.Sorted(maps.Keys(found)))
	}
	return found
}

func TestDataDirOfABrokenFile(t *testing.T) {
	wd, err := os.Getwd()
	must(t, err)
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                     "/var/lib/syncd",
		"retain: -1\n":                         "/var/lib/syncd",
		"a: {data_dir: /no}\n  data_dir: /no":  "/var/lib/syncd",
		"data_dir:\nretain: 1\n":               "/var/lib/syncd",
		"data_dir: '' # none":                  "/var/lib/syncd",
		"x: [\ndata_dir: /srv/a b # here\r\n":  "/srv/a b",
		"data_dir:\t\"/srv/q\"\nnonsense: 1\n": "/srv/q",
		"data_dir: ../mirror/":                 filepath.Join(wd, "..", "mirror"),
	} {
		path := filepath.Join(dir, "syncd.yaml")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if got := DataDir(path); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := DataDir(filepath.Join(dir, "nosuch")); got != "/var/lib/syncd" {
		t.Errorf("no file: %s", got)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
