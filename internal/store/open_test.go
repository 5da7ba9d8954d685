package store

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestFileFromANewerSyncdIsNotCalledDamaged(t *testing.T) {
	path := newPath(t)
	mustOpen(t, path).Close()
	alter(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keySchema, []byte{0, 0, 0, schema + 1}) })
	_, err := openReadOnlyAt(t, path, atOnce)
	if err == nil || strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "newer syncd") {
		t.Errorf("got %v, want an error that names a newer syncd", err)
	}
	s, note, err := openAt(t, path, time.Minute)
	must(t, err)
	defer s.Close()
	kept := aside(t, path)
	if strings.Contains(note, "damaged") || len(kept) != 1 || !strings.HasPrefix(kept[0], path+".newer-") {
		t.Errorf("note %q, kept %q", note, kept)
	}
}

func TestOnlyTheNewestDamagedFilesAreKept(t *testing.T) {
	path := newPath(t)
	others := []string{path + ".bak", path + "x.damaged-1", path + ".newer-1"}
	for _, other := range others {
		must(t, os.WriteFile(other, nil, 0o600))
	}
	var kept []string
	for range maxAside + 2 {
		must(t, os.WriteFile(path, []byte(strings.Repeat("x", 1<<15)), 0o600))
		s, note, err := openAt(t, path, time.Minute)
		if err != nil || note == "" {
			t.Fatalf("note %q, %v", note, err)
		}
		s.Close()
		_, name, _ := strings.Cut(note, "set aside as ")
		kept = append(kept, strings.TrimSuffix(name, " and rebuilt from disk"))
	}
	left := slices.DeleteFunc(aside(t, path), func(name string) bool { return slices.Contains(others, name) })
	if want := kept[len(kept)-maxAside:]; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	for _, other := range others {
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
	}
}

func TestCreatedSurvivesReopening(t *testing.T) {
	before := time.Now().Add(-time.Second)
	path := newPath(t)
	s := mustOpen(t, path)
	made, err := s.Created()
	if err != nil || made.Before(before) || made.After(time.Now()) {
		t.Fatalf("got created %v, %v, want now", made, err)
	}
	s.Close()
	s = mustOpen(t, path)
	if again, err := s.Created(); err != nil || !again.Equal(made) {
		t.Errorf("%v and then %v, %v", made, again, err)
	}
	s.Close()
	alter(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(keyCreated) })
	if earlier, err := mustOpen(t, path).Created(); err != nil || !earlier.IsZero() {
		t.Errorf("of an earlier version: %v, %v", earlier, err)
	}
}

// The mapping is large, and the file is not: backups and searches read all of it.
func TestANewStateFileIsSmall(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	if err := s.SetScrub(Scrub{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 256<<10 {
		t.Errorf("%d bytes: %v", info.Size(), err)
	}
}
