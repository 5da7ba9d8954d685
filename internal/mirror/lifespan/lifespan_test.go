package lifespan

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror/record"
)

func open(t *testing.T, data string) *Register {
	t.Helper()
	root, err := fsops.OpenDir(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	r, err := Open(root, &durable.Disk{Warn: func(string) {}}, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFactsSurviveARestart(t *testing.T) {
	data := newData(t)
	r := open(t, data)
	orders := record.Orders{Pin: "2026.08"}
	gone := Withdrawn{Release: "2026.08", Revision: "abc", Expired: "2026-11-01", At: time.Unix(1e9, 0).UTC(), Orders: orders}
	for _, err := range []error{
		r.Tell("m", "2026.08-abc", "2026-12-31"), r.Tell("m", "2026.08-abc", "2026-11-30"), r.Tell("other", "2026.08-def", "2026-10-31"),
		r.Force("m", "2026.08-abc"), r.Withdraw("m", gone),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []*Register{r, open(t, data)} {
		f := r.Get("m")
		if f.Told["2026.08-abc"] != "2026-11-30" || f.Forced != "" || f.Withdrawn == nil || !f.Withdrawn.Orders.Equal(orders) || f.Withdrawn.Release != "2026.08" {
			t.Errorf("%+v", f)
		}
		if len(r.All()) != 2 || r.Get("other").Told["2026.08-def"] != "2026-10-31" || r.Get("none").Withdrawn != nil {
			t.Errorf("%+v", r.All())
		}
	}
	if err := r.Order("m", record.Orders{}); err != nil || !r.Get("m").Withdrawn.Orders.IsZero() {
		t.Errorf("%v, %+v", err, r.Get("m"))
	}
	if err := r.Force("m", "2026.08-abc"); err != nil {
		t.Fatal(err)
	}
	if err := r.Served("m", "2026.08-abc"); err != nil || r.Get("m").Withdrawn != nil || r.Get("m").Forced != "2026.08-abc" {
		t.Errorf("forced: %v, %+v", err, r.Get("m"))
	}
	if err := r.Served("m", "2026.09-abc"); err != nil || r.Get("m").Forced != "" || len(r.Get("m").Told) != 1 {
		t.Errorf("the next release: %v, %+v", err, r.Get("m"))
	}
}

func TestADamagedFileLosesItsOwnFactsOnly(t *testing.T) {
	data := newData(t)
	r := open(t, data)
	for _, name := range []string{"a", "b"} {
		if err := r.Tell(name, "2026.08-abc", "2026-12-31"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, dir, "a"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := open(t, data).All(); len(all) != 1 || all["b"].Told["2026.08-abc"] == "" {
		t.Errorf("%+v", all)
	}
	if err := open(t, data).Tell("a", "2026.08-abc", "2026-12-31"); err != nil {
		t.Error(err)
	}
	if all := open(t, data).All(); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

func TestToldDaysAreBounded(t *testing.T) {
	r := open(t, newData(t))
	for i := range maxTold + 20 {
		if err := r.Tell("m", fmt.Sprintf("%04d.01-abc", 2000+i), expiry.Day("2026-12-31")); err != nil {
			t.Fatal(err)
		}
	}
	told := r.Get("m").Told
	if _, hasOldest := told["2000.01-abc"]; hasOldest || len(told) != maxTold {
		t.Errorf("%d days, the oldest %t", len(told), hasOldest)
	}
}
