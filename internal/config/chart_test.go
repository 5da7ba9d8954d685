package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const chartSchema = "../../deploy/helm/syncd/values.schema.json"

// setByChart are the keys that the Helm chart sets, and those that would put a Customer ID
// into its ConfigMap.
var setByChart = []string{
	"data_dir", "http.listen", "http.web_config", "serve.listen", "serve.web_config", "serve.ids_file",
	"source.customer_id", "source.customer_id_file",
	"services.contribution.customer_id", "services.list.customer_id", "services.property.customer_id", "services.autocomplete.customer_id", "services.reversegeo.customer_id",
}

// TestChartKnowsEveryKey compares the schema of the Helm chart's value `config` with the
// tables that check the keys. With SYNCD_UPDATE_DOCS=1 it writes that part of the schema.
func TestChartKnowsEveryKey(t *testing.T) {
	current, err := os.ReadFile(chartSchema)
	must(t, err)
	var schema map[string]any
	must(t, json.Unmarshal(current, &schema))
	schema["properties"].(map[string]any)["config"] = schemaOf()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	must(t, encoder.Encode(schema))
	if os.Getenv("SYNCD_UPDATE_DOCS") != "" {
		must(t, os.WriteFile(chartSchema, want.Bytes(), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(string(current), "\n")); diff != "" {
		t.Errorf("the chart's schema is not current: run SYNCD_UPDATE_DOCS=1 go test ./internal/config -run TestChartKnowsEveryKey\n%s", diff)
	}
}

// schemaOf returns the JSON schema of a configuration file without the keys of setByChart.
func schemaOf() map[string]any {
	root := mapping()
	for _, k := range keysBelow(nil) {
		if !slices.Contains(setByChart, k.path) {
			addKey(root, k)
		}
	}
	top := root["properties"].(map[string]any)
	top["manifests"].(map[string]any)["minItems"] = 1
	// Helm reads the key `on` as true, the chart writes it as `on` again.
	hook := top["hooks"].(map[string]any)["items"].(map[string]any)
	hook["properties"].(map[string]any)["true"] = hook["properties"].(map[string]any)["on"]
	delete(hook, "required")
	several(root, "source")
	several(top["publish"].(map[string]any), "s3")
	root["required"] = []string{"source", "manifests"}
	return root
}

// several lets a key take a list of what it takes, each with a name.
func several(in map[string]any, key string) {
	one := in["properties"].(map[string]any)[key].(map[string]any)
	properties := map[string]any{"name": map[string]any{"type": "string"}}
	maps.Copy(properties, one["properties"].(map[string]any))
	listed := maps.Clone(one)
	listed["properties"] = properties
	one["type"], one["items"] = []string{"object", "array"}, listed
}

func mapping() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
}

// addKey adds a key to the schema of the mapping that has it.
func addKey(in map[string]any, k key) {
	name, below, deeper := strings.Cut(k.path, ".")
	name, isList := strings.CutSuffix(name, "[]")
	properties := in["properties"].(map[string]any)
	if !deeper {
		properties[name] = form(k)
		if k.required && name != "url" { // source.s3 can stand in its place
			required, _ := in["required"].([]string)
			in["required"] = append(required, name)
		}
		return
	}
	value := properties[name].(map[string]any)
	if isList && value["type"] != "array" {
		value = map[string]any{"type": "array", "items": mapping()}
		properties[name] = value
	}
	if isList {
		value = value["items"].(map[string]any)
	}
	k.path = below
	addKey(value, k)
}

var (
	words  = regexp.MustCompile(`^[A-Za-z0-9]+(, [A-Za-z0-9]+)* or [A-Za-z0-9]+$`)
	amount = regexp.MustCompile(`^(a form )?such as [0-9]+[A-Za-z]`)
)

// form returns the schema of one value. Values that YAML would read as numbers, such as
// releases and modes, must be strings: 2026.10 would be 2026.1.
func form(k key) map[string]any {
	text := map[string]any{"type": "string"}
	accepts, isList := strings.CutPrefix(k.accepts, "one value or a list: ")
	switch {
	case k.parent && accepts != "" && !isList:
		value := mapping()
		value["type"] = []string{"object", "string"}
		return value
	case k.parent:
		return mapping()
	case strings.HasPrefix(accepts, "write {MANIFEST"):
		return map[string]any{"type": "object", "additionalProperties": text}
	case strings.HasPrefix(accepts, "write it as ["):
		return map[string]any{"type": "array", "items": text}
	case isList:
		return map[string]any{"type": []string{"string", "array"}, "items": text}
	case accepts == "true or false":
		return map[string]any{"type": "boolean"}
	case words.MatchString(accepts):
		var values []any
		for _, word := range strings.FieldsFunc(strings.Replace(accepts, " or ", ", ", 1), func(r rune) bool { return r == ',' || r == ' ' }) {
			values = append(values, word)
			if word == "true" || word == "false" {
				values = append(values, word == "true")
			}
		}
		return map[string]any{"enum": values}
	case strings.HasPrefix(accepts, "a whole number"):
		value := map[string]any{"type": "integer"}
		var from, to int
		if n, _ := fmt.Sscanf(accepts, "a whole number from %d to %d", &from, &to); n == 2 {
			value["minimum"], value["maximum"] = from, to
		}
		return value
	case strings.HasSuffix(accepts, "such as 0.5"):
		return map[string]any{"type": "number"}
	case amount.MatchString(accepts):
		return map[string]any{"type": []string{"string", "integer"}}
	}
	return text
}
