package main

import (
	"slices"
	"strings"
	"testing"

	"syncd/cmd/syncd/call"
)

func TestListOfOperationsFitsAScreen(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	for _, c := range call.Services() {
		lines := strings.Split(strings.TrimSuffix(h.expect(0, "call", c.Name).stdout, "\n"), "\n")
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
	h := newHost(t).withServices()
	for _, hash := range []string{"SHA256", "SHA1", "MD5"} {
		help := h.expect(0, "call", "releases", hash+"/Library", "--help").stdout
		h.contains("help", help, "Show the "+hash+" hash of a binary file", "releases "+hash+"/Library [name=value...]")
		if strings.Contains(help, "hashtype") {
			t.Errorf("help of %s: %s", hash, help)
		}
	}
}

func TestHelpShowsTheConfiguredPrefix(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	h.settings.more = strings.Replace(h.settings.more, "prefix: Provider", "prefix: Acme", 1)
	h.configure()
	change := h.expect(0, "call", "contribution", "changeMAK", "--help").stdout
	h.contains("help", change, "AcmeAddressKey*", "Acme in names is services.prefix", "Current and ChangeTo must have the same keys", "Filled in, leave out: CustomerID (the Customer ID)")
	h.contains("help", h.expect(0, "call", "list", "MAK/doLookup", "--help").stdout, "BaseAcmeAddressKey")
	h.contains("help", h.expect(0, "call", "property", "LookupProperty", "--help").stdout, "TotalRecords (the number of records)")
	h.contains("completion", h.expect(0, "__complete", "call", "contribution", "changeMAK", "").stdout, "AcmeAddressKey=")
	if strings.Contains(change, "{Prefix}") {
		t.Error(change)
	}
	h.contains("help without a configuration", h.expect(0, "--config", "none.yaml", "call", "contribution", "changeMAK", "--help").stdout, "ProviderAddressKey*")
}

func TestCallHelpAndCompletion(t *testing.T) {
	t.Parallel()
	h := newHost(t).withServices()
	h.contains("a call", h.expect(0, append([]string{"call", "property", "LookupProperty"}, "mak=4400112233")...).stdout, "{\n  \"Version\"")
	h.contains("call", h.expect(0, "call").stdout, "contribution", "reversegeo", "releases")
	for _, c := range call.Services() {
		text := h.expect(0, "call", c.Name).stdout
		for _, op := range c.Operations {
			h.contains(c.Name, text, op.Name, op.Summary)
			for _, variant := range op.Variants() {
				h.contains(variant.Name, h.expect(0, "call", c.Name, variant.Name, "--help").stdout, variant.Summary, "Forms: ", "--dry-run")
			}
		}
	}
	h.contains("help", h.expect(0, "call", "property", "LookupProperty", "--help").stdout, "a1", "Records.AddressLine1", "needs any one of", "fips+account")
	complete := func(want string, args ...string) {
		t.Helper()
		offered := strings.Split(h.expect(0, append([]string{"__complete", "call"}, args...)...).stdout, "\n")
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
