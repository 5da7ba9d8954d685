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
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Judge says whether something was lost, as RELIABILITY.md defines it.
type Judge struct {
	Config string            // a configuration file, whose data_dir is judged
	Before string            // what readers may see until the work is reported, see Served; "" for nothing
	After  string            // what they may see from its first step on, and must see once it is reported
	Want   map[string]string // the data directory in the end, see Describe
}

// Check starts the program on the data directory and syncs on demand. It returns an error if
// something was lost. isReported says that the work was reported as done before the crash.
func (j *Judge) Check(isReported bool) (err error) {
	cfg, err := config.Load(j.Config, config.Environment{})
	if err != nil {
		return err
	}
	if err := j.look(cfg.DataDir, isReported); err != nil {
		return fmt.Errorf("after the crash: %w", err)
	}
	e, err := engine.Open(cfg, engine.Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), Version: "devel", AddSecret: func(string) {}})
	if err != nil {
		return fmt.Errorf("the program does not start: %w", err)
	}
	if err := j.look(cfg.DataDir, isReported); err != nil {
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
	if err := j.look(cfg.DataDir, true); err != nil {
		return fmt.Errorf("after the next sync: %w", err)
	}
	got, err := Describe(cfg.DataDir)
	if err != nil {
		return err
	}
	return j.compare(got)
}

func (j *Judge) compare(got map[string]string) (err error) {
	for _, name := range slices.Sorted(maps.Keys(j.Want)) {
		if got[name] != j.Want[name] {
			err = errors.Join(err, fmt.Errorf("in the end %s is %q, want %q", name, got[name], j.Want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, found := j.Want[name]; !found {
			err = errors.Join(err, fmt.Errorf("in the end %s is left: %s", name, got[name]))
		}
	}
	return err
}

// look reads what readers see.
func (j *Judge) look(folder string, isReported bool) error {
	served, err := Served(folder)
	switch {
	case err != nil:
		return err
	case served == j.After, served == j.Before && !isReported:
		return nil
	}
	return fmt.Errorf("readers see\n%swhich is neither the old\n%snor the new\n%s(reported: %t)", served, j.Before, j.After, isReported)
}

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
		return "", fmt.Errorf("%s is empty: %w", generation, err)
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
var changing = regexp.MustCompile(`"(mirrored_at|published_at|since|at)": ?"[^"]*"`)

// Describe describes a data directory without what may differ after a crash: times, the number
// of the generation, the bytes of what lies in state itself, and the numbers in the audit.
func Describe(folder string) (map[string]string, error) {
	all := map[string]string{}
	target, _ := os.Readlink(filepath.Join(folder, "current"))
	current := filepath.Base(target)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name := strings.Replace(rel, "generations/"+current, "generations/CURRENT", 1)
		all[name] = info.Mode().String()
		switch {
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[name] += " " + strings.Replace(target, current, "CURRENT", 1)
			return err
		case entry.Type() == 0 && filepath.Dir(rel) != "state" && rel != "state/audit/events":
			data, err := os.ReadFile(path)
			if filepath.Ext(path) == ".json" || filepath.Base(path) == "entry" {
				data = changing.ReplaceAll(data, nil)
			}
			all[name] += fmt.Sprintf(" %x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	return all, err
}
