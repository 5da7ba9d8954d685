package commands_test

import (
	"regexp"
	"testing"

	"syncd/internal/e2e"
)

// The unit restarts a daemon that ends with 1, for ever, and leaves one alone that ends with
// 2: a file that the configuration names is a matter of the configuration.
func TestUnusableFilesOfTheConfigurationEndEveryCommandWithTwo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, source, more, wants string
		commands                  [][]string
	}{
		{"ca_file", "ca_file: absent.pem", "", `syncd.yaml:[0-9]+:[0-9]+: source.ca_file: .*absent.pem cannot be read: no such file`,
			[][]string{{"config", "check"}, {"run"}, {"sync"}, {"sync", "--dry-run"}, {"manifests"}, {"get", "Data/2026.10/mdAddr.dat"}}},
		{"client_cert", "client_cert: syncd.yaml\n  client_key: syncd.yaml", "", `syncd.yaml:[0-9]+:[0-9]+: source.client_cert: .*; name PEM files`,
			[][]string{{"config", "check"}, {"run"}, {"sync"}, {"manifests"}}},
		{"client_key", "client_cert: syncd.yaml\n  client_key: absent.key", "", `syncd.yaml:[0-9]+:[0-9]+: source.client_key: .*absent.key cannot be read`,
			[][]string{{"config", "check"}, {"run"}, {"sync"}}},
		{"ca_file of a service", "", "services: {list: {url: 'https://list.example.net', ca_file: absent.pem}}", `syncd.yaml:[0-9]+:[0-9]+: services.list.ca_file: .*absent.pem`,
			[][]string{{"config", "check"}, {"call", "list", "Business/doCount", "Includes.Zips=66999"}}},
		{"web_config", "", "serve: {listen: '127.0.0.1:0', public_url: 'http://127.0.0.1:1', web_config: absent.yml}", `syncd.yaml:[0-9]+:[0-9]+: serve.web_config: `,
			[][]string{{"config", "check"}, {"run"}}},
		{"ids_file", "", "serve: {listen: '127.0.0.1:0', public_url: 'http://127.0.0.1:1', ids_file: absent}", `syncd.yaml:[0-9]+:[0-9]+: serve.ids_file: `,
			[][]string{{"config", "check"}, {"run"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			h.Settings.Source = row.source
			h.ConfigureWith(row.more)
			for _, command := range row.commands {
				if stderr := h.Expect(2, command...).Stderr; !regexp.MustCompile(row.wants).MatchString(stderr) {
					t.Errorf("%v: %s", command, stderr)
				}
			}
		})
	}
}
