// Mutants breaks the program in one place at a time and requires that a test notices. Run
// it as `go run ./.ci/mutants`, or with names of mutants for a part of them. Files stay as
// they are: the compiler gets the changed ones as an overlay.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant is one change of the program that a test must notice. find matches at exactly one
// place of all files that are no tests; receivers are \w+, so that code can move.
type mutant struct {
	name    string
	find    string
	replace string
	in      string // last element of the packages whose tests must notice it, first the likeliest
	run     string // the tests to run, "" for all
}

func main() {
	dir := flag.String("dir", ".", "root of the module")
	race := flag.Bool("race", false, "build with the race detector")
	check := flag.Bool("check", false, "only check that the text of each mutant is found")
	flag.Parse()
	root, err := filepath.Abs(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	survived := 0
	for _, m := range mutants {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), m.name) {
			continue
		}
		begun := time.Now()
		verdict, err := m.verdict(root, *race, *check)
		if err != nil {
			verdict = "error: " + err.Error()
		}
		if !strings.HasPrefix(verdict, "killed") {
			survived++
		}
		fmt.Printf("%-40s %s (%s)\n", m.name, verdict, time.Since(begun).Round(time.Second))
	}
	if survived > 0 {
		fmt.Printf("%d mutants were not killed\n", survived)
		os.Exit(1)
	}
}

// verdict runs the tests of each package until one fails.
func (m mutant) verdict(root string, race, check bool) (string, error) {
	work, err := os.MkdirTemp("", "syncd-mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	overlay, err := m.overlay(root, work)
	if err != nil || check {
		return "killed, if a test is run", err
	}
	for name := range strings.SplitSeq(m.in, " ") {
		folder, err := find(root, name)
		if err != nil {
			return "", err
		}
		args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=10m"}
		if race {
			args = append(args, "-race")
		}
		if m.run != "" {
			args = append(args, "-run", m.run)
		}
		cmd := exec.Command("go", append(args, "./"+folder)...)
		cmd.Dir = root
		// The variable, because tests build the program, too.
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]") {
			return "", fmt.Errorf("%s does not build:\n%s", folder, out)
		}
		if err != nil {
			return "killed by " + name + " " + firstFailure(string(out)), nil
		}
	}
	return "SURVIVED " + m.in, nil
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

func firstFailure(out string) string {
	if found := failure.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return "with a panic or a timeout"
}

// find returns the folder of a package, the one nearest to the root; names are alternatives.
func find(root, names string) (folder string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains(strings.Split(names, "|"), entry.Name()) {
			if tests, _ := filepath.Glob(filepath.Join(path, "*_test.go")); len(tests) > 0 && (folder == "" || depth(path) < depth(folder)) {
				folder = path
			}
		}
		return err
	})
	if err != nil || folder == "" {
		return "", errors.Join(err, fmt.Errorf("no package %s has tests", names))
	}
	return filepath.Rel(root, folder)
}

func depth(path string) int { return strings.Count(path, string(filepath.Separator)) }

// overlay writes the changed file and returns the name of the overlay for the compiler.
func (m mutant) overlay(root, work string) (string, error) {
	place, err := regexp.Compile(m.find)
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for _, top := range []string{"internal", "cmd"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found := place.FindAllStringIndex(string(text), -1)
			if len(found) == 0 {
				return nil
			}
			changed := filepath.Join(work, filepath.Base(path))
			for range len(found) {
				replaced[fmt.Sprint(path, len(replaced))] = changed
			}
			return os.WriteFile(changed, place.ReplaceAll(text, []byte(m.replace)), 0o600)
		}))
	}
	if err != nil {
		return "", err
	}
	if len(replaced) != 1 {
		return "", fmt.Errorf("its text is found %d times, want 1: correct the table", len(replaced))
	}
	for path, changed := range replaced {
		replaced = map[string]string{strings.TrimSuffix(path, "0"): changed}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(work, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}
