package store

import (
	"encoding/json"
	"testing"
)

func TestFleetEntriesOutliveARestart(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	read := func() map[string]string {
		all := map[string]string{}
		if err := s.Fleet(func(key string, value json.RawMessage) error {
			all[key] = string(value)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	same(t, map[string]string{}, read())
	for _, change := range []map[string]any{{"a": 1, "b": []int{2}}, {"a": nil, "c": "3", "unknown": nil}} {
		must(t, s.SetFleet(change))
	}
	must(t, s.Close())
	s = mustOpen(t, path)
	same(t, map[string]string{"b": "[2]", "c": `"3"`}, read())
}
