package mirror

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestARevisionDirectoryWithOtherContentIsNeverPublished(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string, m *Mirror, r *Record) error{
		"two revisions of one name": func(t *testing.T, _ string, m *Mirror, r *Record) error {
			id := r.Revision
			*r = recordOf(t, m, "a", r.Release, files{"x": "other", "d/y": "2"})
			r.Revision = id
			return nil
		},
		"a missing file": func(_ *testing.T, dir string, _ *Mirror, _ *Record) error { return os.Remove(filepath.Join(dir, "x")) },
		"an extra file": func(_ *testing.T, dir string, _ *Mirror, _ *Record) error {
			return os.WriteFile(filepath.Join(dir, "extra"), nil, 0o444)
		},
		"another name": func(_ *testing.T, dir string, _ *Mirror, _ *Record) error {
			return os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "X"))
		},
		"a damaged copy": func(_ *testing.T, dir string, _ *Mirror, _ *Record) error {
			return errors.Join(os.Remove(filepath.Join(dir, "x")), os.WriteFile(filepath.Join(dir, "x"), []byte("9"), 0o444))
		},
		"a file for a folder": func(_ *testing.T, dir string, _ *Mirror, _ *Record) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "d")), os.WriteFile(filepath.Join(dir, "d"), nil, 0o444))
		},
		"a folder for a file": func(_ *testing.T, dir string, _ *Mirror, _ *Record) error {
			return errors.Join(os.Remove(filepath.Join(dir, "x")), os.Mkdir(filepath.Join(dir, "x"), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			r := recordOf(t, m, "a", "2026.09", files{"x": "1", "d/y": "2"})
			mustPublish(t, m, r)
			mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "3", "d/y": "2"}))
			must(t, spoil(t, m.revisionPath(r), m, &r))
			before := m.Current()
			if _, err := m.Publish(context.Background(), Change{Set: []Record{r}}); err == nil {
				t.Error("it was published")
			}
			same(t, before, m.Current())
			if number, err := m.Generations.readCurrent(); err != nil || number != 2 {
				t.Errorf("current is %d, %v", number, err)
			}
			checkGeneration(t, m, 2)
		})
	}
}

func TestARevisionDirectoryOfWholeCopiesIsPublishedAgain(t *testing.T) {
	m := newMirror(t)
	r := recordOf(t, m, "a", "2026.09", files{"x": "1"})
	mustPublish(t, m, r)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
	replace(t, filepath.Join(m.revisionPath(r), "x"), "1")
	mustPublish(t, m, r)
}

func TestIntactReportsDamageAndRefreshRecovers(t *testing.T) {
	for name, damage := range map[string]func(m *Mirror) error{
		"nothing":         func(m *Mirror) error { return nil },
		"current removed": func(m *Mirror) error { return os.Remove(m.path("current")) },
		"current to a lower generation": func(m *Mirror) error {
			return errors.Join(os.Remove(m.path("current")), os.Symlink("generations/000001", m.path("current")))
		},
		"link removed":     func(m *Mirror) error { return os.Remove(m.path("generations/000002/a")) },
		"sums removed":     func(m *Mirror) error { return os.Remove(m.path("generations/000002/a.SHA256SUMS")) },
		"record removed":   func(m *Mirror) error { return os.Remove(m.path("generations/000002/a.json")) },
		"revision removed": func(m *Mirror) error { return os.RemoveAll(m.revisionPath(m.Current().Records["a"])) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
			next := recordOf(t, m, "a", "2026.10", files{"x": "2"})
			mustPublish(t, m, next)
			must(t, damage(m))
			if err := m.Generations.Intact(); (err == nil) != (name == "nothing") {
				t.Errorf("Intact says %v", err)
			}
			must(t, errors.Join(m.Refresh(), m.Generations.Intact()))
			checkGeneration(t, m, m.Current().Number)
			if _, err := m.Publish(context.Background(), Change{Set: []Record{next}}); err != nil {
				t.Fatal(err)
			}
			checkGeneration(t, recovered(t, m.dir), m.Current().Number)
		})
	}
}

func TestIntactReportsNothingDuringASwap(t *testing.T) {
	m := newMirror(t)
	records := []Record{recordOf(t, m, "a", "2026.09", files{"x": "1"}), recordOf(t, m, "a", "2026.10", files{"x": "2"})}
	mustPublish(t, m, records[0])
	done := make(chan error)
	go func() {
		var err error
		for i := 1; i <= 100 && err == nil; i++ {
			_, err = m.Publish(context.Background(), Change{Set: []Record{records[i%2]}})
		}
		done <- err
	}()
	for n := 0; ; n++ {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if err := m.Generations.Intact(); err != nil {
			t.Errorf("after %d calls: %v", n, err)
			<-done
			return
		}
	}
}
