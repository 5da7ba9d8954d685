package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The publisher gets the paths that the parsers refuse, because a record can also
// come from a disk that another program has written to.
func TestPublishRefusesHarmfulPaths(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
	good := recordOf(t, m, "a", "2026.10", files{"x": "2"})
	before, fed, lost := listing(t, m.dir), 0, 0
	for name, paths := range attacks(t) {
		bad := good
		bad.Files = nil
		for _, path := range paths {
			bad.Files = append(bad.Files, File{Path: path, Object: good.Files[0].Object})
		}
		fed++
		_, err := m.Publish(context.Background(), Change{Set: []Record{bad}})
		if build, ok := errors.AsType[*BuildError](err); !ok || build.Manifest != "a" {
			lost++
			t.Errorf("%s: got %v, want a BuildError of manifest a", name, err)
		}
		if diff := cmp.Diff(before, listing(t, m.dir)); diff != "" {
			t.Fatalf("%s left something: %s", name, diff)
		}
	}
	mustPublish(t, m, good)
	t.Logf("RELIABILITY attacks on the publisher: a record with paths that mean harm: %d times, lost %d", fed, lost)
}

// attacks returns the paths that the attacks would lead to without the parsers, by
// the name of the attack.
func attacks(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../manifest/testdata/attacks.json")
	must(t, err)
	var list []struct {
		Name  string
		Paths []string
	}
	must(t, json.Unmarshal(data, &list))
	paths := map[string][]string{"invalid UTF-8, raw": {"a\xff.dat"}, "over-long UTF-8, raw": {"..\xc0\xaf..\xc0\xafescaped"}}
	for _, a := range list {
		if len(a.Paths) > 0 {
			paths[a.Name] = a.Paths
		}
	}
	return paths
}
