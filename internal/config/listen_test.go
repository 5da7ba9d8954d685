package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenVariableReplacesTheDefault(t *testing.T) {
	tests := []struct {
		name, variable, inFile string
		want                   string // the address, or the error without its directory
	}{
		{"no variable", "", "", "127.0.0.1:9797"},
		{"variable", ":9797", "", ":9797"},
		{"the file comes first", ":9797", `http: {listen: "127.0.0.1:1"}`, "127.0.0.1:1"},
		{"the file's off too", ":9797", `http: {listen: ""}`, ""},
		{"another key of http", ":9797", "http: {web_config: web.yaml}", ":9797"},
		{"wrong", marker, "", `syncd.yaml: $SYNCD_HTTP_LISTEN: is not host:port; use host:port such as 127.0.0.1:9797, or "" for no web server`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "syncd.yaml")
			must(t, os.WriteFile(path, []byte(minimal+"\n"+tt.inFile+"\n"), 0o600))
			var got string
			c, err := Load(path, Environment{Getenv: func(name string) string {
				return map[string]string{listenVariable: tt.variable}[name]
			}})
			if err != nil {
				got = strings.TrimPrefix(err.Error(), filepath.Dir(path)+"/")
			} else {
				got = c.HTTP.Listen
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
