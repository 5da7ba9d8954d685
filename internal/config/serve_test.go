package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"syncd/internal/config/ring"
	"syncd/internal/config/value"
)

func TestServe(t *testing.T) {
	c, err := parse("/etc/syncd/syncd.yaml", []byte(minimal+`
serve:
  listen: "0.0.0.0:9443"
  public_url: https://mirror.example.net/
  web_config: serve.yml
  ids_file: ids
  bandwidth: 50MiB
  keep: 2d
  keep_max: 50GiB
  rings: [{name: canary}, {name: rest, delay: 24h, stop_above: "5%"}, {name: far, delay: 24h, after: {share: "80%", hosts: 3}, max_wait: 3d}, {name: last, delay: 24h, after: {share: "100%"}}]
`), Environment{})
	must(t, err)
	got := c.Serve
	if got.Bandwidth.At(time.Now()).Rate != 50<<20 {
		t.Errorf("bandwidth %v", got.Bandwidth)
	}
	if got.PublicURL.String() != "https://mirror.example.net" {
		t.Errorf("public_url %s", got.PublicURL)
	}
	got.Bandwidth, got.PublicURL = Serve{}.Bandwidth, nil
	want := Serve{
		Listen: "0.0.0.0:9443", WebConfig: "/etc/syncd/serve.yml", IDsFile: "/etc/syncd/ids", Keep: 2 * value.Day, KeepMax: 50 << 30, MaxHosts: 1000,
		Rings: []Ring{{Name: "canary", StopAbove: ring.NeverStop}, {Name: "rest", Delay: 24 * time.Hour, StopAbove: 0.05},
			{Name: "far", Delay: 24 * time.Hour, StopAbove: ring.NeverStop, AfterShare: 0.8, AfterHosts: 3, MaxWait: 3 * value.Day},
			{Name: "last", Delay: 24 * time.Hour, StopAbove: ring.NeverStop, AfterShare: 1, AfterHosts: 1, MaxWait: 48 * time.Hour}},
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestServeIsOffByDefault(t *testing.T) {
	if s := Default().Serve; s.IsOn() || s.Keep != 24*time.Hour || s.KeepMax != KeepTenth {
		t.Errorf("%+v", s)
	}
}

func TestServeProblems(t *testing.T) {
	for text, want := range map[string]string{
		`{listen: ":1"}`: "serve.public_url: is missing",
		`{listen: ":1", public_url: "https://mirror.example.net/files"}`:   "serve.public_url: has more than scheme, host and port",
		`{listen: ":1", public_url: "https://me@mirror.example.net"}`:      "serve.public_url: has more than scheme, host and port",
		`{listen: nowhere, public_url: "https://m"}`:                       "serve.listen: is not host:port",
		`{rings: [{delay: 1h}]}`:                                           "serve.rings[0].name: is missing",
		`{rings: [{name: a}, {name: a}]}`:                                  "serve.rings[1].name: names an earlier ring, too",
		`{rings: [{name: a, delay: 2h}, {name: b, delay: 1h}]}`:            "serve.rings[1].delay: is shorter than that of the ring before",
		`{rings: [{name: "a b"}]}`:                                         "serve.rings[0].name: is not a plain name",
		`{rings: [{name: a, stop_above: 5}]}`:                              "serve.rings[0].stop_above: is not a percentage",
		`{rings: [{name: a, after: {hosts: 3}}]}`:                          "serve.rings[0].after: is on the first ring",
		`{rings: [{name: a}, {name: b, after: {hosts: 0}}]}`:               "serve.rings[1].after.hosts: is out of range",
		`{rings: [{name: a}, {name: b, after: {share: "101%"}}]}`:          "serve.rings[1].after.share: is not a percentage",
		`{rings: [{name: a}, {name: b, after: {share: "0%"}}]}`:            "serve.rings[1].after.share: is a share that no host must serve",
		`{rings: [{name: a}, {name: b, after: {}}]}`:                       "serve.rings[1].after: is empty",
		`{rings: [{name: a}, {name: b, after: {hosts: 3, shares: 1}}]}`:    "serve.rings[1].after.shares: unknown key",
		`{rings: [{name: a}, {name: b, max_wait: 1h}]}`:                    "serve.rings[1].max_wait: is without after",
		`{rings: [{name: a}, {name: b, after: {hosts: 3}, max_wait: 0s}]}`: "serve.rings[1].max_wait: is no time",
		`{rings: canary}`:  "serve.rings: must be a list",
		`{keep: never}`:    "serve.keep: is not a duration",
		`{keep_max: much}`: "serve.keep_max: is not a size",
		`{keep_max: 9EiB}`: "serve.keep_max: is too large",
		`{max_hosts: 0}`:   "serve.max_hosts: is out of range",
	} {
		_, err := parse("syncd.yaml", []byte(minimal+"\nserve: "+text+"\n"), Environment{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestServeWarnings(t *testing.T) {
	for text, want := range map[string][]string{
		`{listen: ":1", public_url: "https://m.example", ids_file: ids}`: nil,
		`{listen: ":1", public_url: "http://127.0.0.1:1"}`:               nil,
		`{public_url: "http://m.example"}`:                               nil,
		`{listen: ":1", public_url: "https://m.example"}`:                {"serve.ids_file: is missing, so that only programs on this host may ask"},
		`{listen: ":1", public_url: "http://m.example", ids_file: ids}`:  {"serve.public_url: plain http is insecure"},
	} {
		c, err := parse("syncd.yaml", []byte(minimal+"\nserve: "+text+"\n"), Environment{})
		must(t, err)
		got := c.Serve.warnings("syncd.yaml")
		for i, line := range want {
			if len(got) != len(want) || !strings.Contains(got[i], line) {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q", text, got)
		}
	}
}
