package states

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/disk/datadir"
	"syncd/internal/disk/fsops"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Judge says whether something was lost, as RELIABILITY.md defines it.
type Judge struct {
	Config string  // a configuration file, whose data_dir is judged
	Before Outcome // allowed until the work is reported
	After  Outcome // allowed from the first step of the work on

	// MayLoseState allows that the state file is set aside as damaged: it was damaged or new.
	MayLoseState bool
}

// Outcome is the work not done, or done.
type Outcome struct {
	Served string            // what readers see, see Served
	Ends   string            // the same after the next sync
	Want   map[string]string // what the disk has after that sync, see Describe
}

// Check starts the program on the data directory below root, and syncs on demand. It returns
// an error if something was lost. isReported says that the work was reported as done before.
func (j *Judge) Check(root string, isReported bool) (err error) {
	cfg, err := config.Load(j.Config, config.Environment{})
	if err != nil {
		return err
	}
	allowed := []Outcome{j.After}
	if !isReported {
		allowed = append(allowed, j.Before)
	}
	if seen, err := look(cfg.DataDir, allowed); err != nil {
		return fmt.Errorf("after the crash: %w", err)
	} else if seen[0].Served == j.After.Served { // else the start may do the rest
		allowed = seen
	}
	e, err := engine.Open(cfg, engine.Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), Version: "devel", AddSecret: func(string) {}})
	if err != nil {
		return fmt.Errorf("the program does not start: %w", err)
	}
	if allowed, err = look(cfg.DataDir, allowed); err != nil {
		return errors.Join(fmt.Errorf("after the start: %w", err), e.Close())
	}
	result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true, Trigger: request.TriggerCommand})
	if err = errors.Join(err, e.Close()); err != nil {
		return fmt.Errorf("the next sync: %w", err)
	}
	for _, m := range result.Manifests {
		if m.Result != report.Updated && m.Result != report.Unchanged {
			return fmt.Errorf("the next sync: %s %s: %s", m.Name, m.Result, m.Error)
		}
	}
	return j.ends(root, cfg.DataDir, allowed)
}

// look returns the outcomes that readers may take what they see for.
func look(folder string, allowed []Outcome) (seen []Outcome, err error) {
	served, err := Served(folder)
	if err != nil {
		return nil, err
	}
	for _, outcome := range allowed {
		if outcome.Served == served {
			seen = append(seen, outcome)
		}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("readers see\n%swhich is none of %d allowed outcomes, such as\n%s", served, len(allowed), allowed[0].Served)
	}
	return seen, nil
}

// ends is nil if one of the outcomes explains the disk after the next sync.
func (j *Judge) ends(root, folder string, allowed []Outcome) error {
	served, err := Served(folder)
	if err != nil {
		return fmt.Errorf("after the next sync: %w", err)
	}
	got, err := Describe(root, folder)
	if err != nil {
		return err
	}
	for _, outcome := range allowed {
		found := j.differs(got, outcome)
		if outcome.Ends != served {
			found = errors.Join(fmt.Errorf("after the next sync, readers see\n%swant\n%s", served, outcome.Ends), found)
		}
		if found == nil {
			return nil
		}
		err = errors.Join(err, found)
	}
	return err
}

// differs compares what is on disk with an outcome. What the state folder notes may be from the
// work not done or done: readers do not see it, and its notes are independent.
func (j *Judge) differs(got map[string]string, o Outcome) (err error) {
	names := map[string]bool{}
	for _, all := range []map[string]string{got, o.Want} {
		for name := range all {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		is := got[name]
		isNote := strings.HasPrefix(name, "data/state/") && (is == j.Before.Want[name] || is == j.After.Want[name]) ||
			strings.HasPrefix(name, "data/state/destroyed/") && fsops.IsTemp(name) || // the next destruction removes it
			name == "data/state/syncd.sock" // the next daemon or command with work removes it
		if is != o.Want[name] && !isNote && (!j.MayLoseState || !isSetAside(name)) {
			err = errors.Join(err, fmt.Errorf("in the end %s is %q, want %q", name, is, o.Want[name]))
		}
	}
	return err
}

// setAside is the end of the name of a state file that was damaged.
var setAside = regexp.MustCompile(`\.damaged-[0-9TZ.]+$`)

func isSetAside(name string) bool { return strings.HasSuffix(name, ".damaged") }

// Served returns the lists of what current shows, "" if there is no current. It fails unless
// each file is there and has its digest.
func Served(folder string) (string, error) {
	if _, err := os.Readlink(filepath.Join(folder, "current")); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	generation, err := filepath.EvalSymlinks(filepath.Join(folder, "current"))
	if err != nil {
		return "", err
	}
	lists, err := filepath.Glob(filepath.Join(generation, "*.SHA256SUMS"))
	if err != nil || len(lists) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s is empty", generation))
	}
	var all strings.Builder
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return "", err
		}
		all.Write(text)
		for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
			digest, name, _ := strings.Cut(lines.Text(), "  ")
			data, err := os.ReadFile(filepath.Join(generation, name))
			if err != nil {
				return "", err
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != digest {
				return "", fmt.Errorf("%s has the digest %s, want %s", name, got, digest)
			}
		}
	}
	return all.String(), nil
}

// changing are the parts of records that differ between two runs: times.
var changing = regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*"`)

// Describe describes what lies below root without what may differ after a crash: times, the
// number of the generation, the bytes of what lies in the state folder itself, and the numbers
// in the audit. folder is the data directory.
func Describe(root, folder string) (map[string]string, error) {
	all := map[string]string{}
	target, _ := os.Readlink(filepath.Join(folder, "current"))
	current := filepath.Base(target)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := rel
		if target != "" {
			name = strings.Replace(rel, "generations/"+current, "generations/CURRENT", 1)
		}
		name = setAside.ReplaceAllString(name, ".damaged")
		all[name] = info.Mode().String()
		text, err := described(path, entry)
		if target != "" {
			text = strings.Replace(text, current, "CURRENT", 1)
		}
		all[name] += text
		return err
	})
	return all, err
}

// described describes the content of an entry, unless only its name counts or it is the state's
// own: the lock, the state file and the list of what went live.
func described(path string, entry fs.DirEntry) (string, error) {
	isState := filepath.Base(filepath.Dir(path)) == "state" || strings.HasSuffix(path, "state/audit/events") || entry.Name() == datadir.Mark
	switch {
	case entry.Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		return " " + target, err
	case entry.Type() == 0 && !isState:
		data, err := os.ReadFile(path)
		if strings.Contains(path, "/state/") || filepath.Ext(path) == ".json" {
			data = changing.ReplaceAll(data, nil)
		}
		return fmt.Sprintf(" %x", sha256.Sum256(data)), err
	}
	return "", nil
}
