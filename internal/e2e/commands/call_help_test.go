package commands_test

import (
	"slices"
	"strings"
	"testing"

	"syncd/cmd/syncd/call"
	"syncd/internal/e2e"
)

func TestListOfOperationsFitsAScreen(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	for _, c := range call.Services() {
		lines := strings.Split(strings.TrimSuffix(h.Expect(0, "call", c.Name).Stdout, "\n"), "\n")
		if len(lines) >= 24 {
			t.Errorf("%s: %d lines leave no room for the prompt", c.Name, len(lines))
		}
		for _, line := range lines {
			if len(line) > 80 {
				t.Errorf("%s: %d characters: %s", c.Name, len(line), line)
			}
		}
	}
}

func TestHelpOfAHashNamesItsType(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	for _, hash := range []string{"SHA256", "SHA1", "MD5"} {
		help := h.Expect(0, "call", "releases", hash+"/Library", "--help").Stdout
		h.Contains("help", help, "Show the "+hash+" hash of a binary file", "releases "+hash+"/Library [name=value...]")
		if strings.Contains(help, "hashtype") {
			t.Errorf("help of %s: %s", hash, help)
		}
	}
}

func TestHelpShowsTheConfiguredPrefix(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	h.ConfigureWith(strings.Replace(h.Settings.More, "prefix: Provider", "prefix: Acme", 1))
	change := h.Expect(0, "call", "contribution", "changeMAK", "--help").Stdout
	h.Contains("help", change, "AcmeAddressKey*", "Acme in names is services.prefix", "Current and ChangeTo must have the same keys", "Filled in, leave out: CustomerID (the Customer ID)")
	h.Contains("help", h.Expect(0, "call", "list", "MAK/doLookup", "--help").Stdout, "BaseAcmeAddressKey")
	h.Contains("help", h.Expect(0, "call", "property", "LookupProperty", "--help").Stdout, "TotalRecords (the number of records)")
	h.Contains("completion", h.Expect(0, "__complete", "call", "contribution", "changeMAK", "").Stdout, "AcmeAddressKey=")
	if strings.Contains(change, "{Prefix}") {
		t.Error(change)
	}
	h.Contains("help without a configuration", h.Expect(0, "--config", "none.yaml", "call", "contribution", "changeMAK", "--help").Stdout, "ProviderAddressKey*")
}

func TestCallHelpAndCompletion(t *testing.T) {
	t.Parallel()
	h := withServices(e2e.NewHost(t))
	h.Contains("a call", h.Expect(0, append([]string{"call", "property", "LookupProperty"}, "mak=4400112233")...).Stdout, "{\n  \"Version\"")
	h.Contains("call", h.Expect(0, "call").Stdout, "contribution", "reversegeo", "releases")
	for _, c := range call.Services() {
		text := h.Expect(0, "call", c.Name).Stdout
		for _, op := range c.Operations {
			h.Contains(c.Name, text, op.Name, op.Summary)
			for _, variant := range op.Variants() {
				h.Contains(variant.Name, h.Expect(0, "call", c.Name, variant.Name, "--help").Stdout, variant.Summary, "Forms: ", "--dry-run")
			}
		}
	}
	h.Contains("help", h.Expect(0, "call", "property", "LookupProperty", "--help").Stdout, "a1", "Records.AddressLine1", "needs any one of", "fips+account")
	complete := func(want string, args ...string) {
		t.Helper()
		offered := strings.Split(h.Expect(0, append([]string{"__complete", "call"}, args...)...).Stdout, "\n")
		if !slices.ContainsFunc(offered, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%v offers %q, want %q", args, offered, want)
		}
	}
	complete("property", "")
	complete("LookupDeeds", "property", "")
	complete("fips=", "property", "LookupDeeds", "")
	complete("FIPS=", "property", "LookupDeeds", "--post", "")
	complete("act=suppression", "contribution", "removeMAK", "act=")
	complete("Includes.Zips=", "list", "MAK/doCount", "")
}
