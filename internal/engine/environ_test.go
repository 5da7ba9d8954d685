package engine

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"syncd/internal/config"
)

// A variable of another program can hold the Customer ID, such as a link to the provider.
func TestNoCommandGetsTheCustomerIDInAnySpelling(t *testing.T) {
	const id = "K3Y/with+special=chars&%"
	for name, value := range map[string]string{
		"PLAIN": id, "QUERY": "https://releases.example.net/?id=" + url.QueryEscape(id), "LOWER": strings.ToLower(id), "UPPER": strings.ToUpper(id),
		"BASE64": base64.StdEncoding.EncodeToString([]byte("user:" + id)), "KEPT": "kept",
	} {
		t.Setenv("ID_"+name, value)
	}
	got := map[string]string{}
	for _, variable := range commandEnviron(&config.Config{}, config.Secret(id)) {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ID_") {
			got[name] = value
		}
	}
	if len(got) != 1 || got["ID_KEPT"] != "kept" {
		t.Errorf("commands get %v", got)
	}
}
