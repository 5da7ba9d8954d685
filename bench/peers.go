package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// contender is one way to fetch a release into an empty directory and check its digests.
type contender struct {
	name    string
	needs   []string // programs
	command func(s *served, dir string) (*exec.Cmd, error)
	check   func(dir string, files int) error // checks the result; nil if command fails on a wrong digest
}

func (c contender) missing() (programs []string) {
	for _, program := range c.needs {
		if _, err := exec.LookPath(program); err != nil {
			programs = append(programs, program)
		}
	}
	return programs
}

const (
	wgetName = "wget2 + openssl"
	curlName = "curl + openssl"
	ariaName = "aria2"
)

// The scripts fetch all digests first, over kept connections, and fail on a wrong one.
// They neither fsync nor swap.
const (
	askHashes = `curl -sS --no-progress-meter --fail --parallel --parallel-max %d -K hashes.curl &&
(cd hashes && awk '{print $1 " *" FILENAME}' *) > expected && `
	// hashAndCompare starts openssl once for each of two cores, because starting it costs
	// time. Debian's sha256sum does not use the CPU's SHA instructions.
	hashAndCompare = ` && cd files && {
xargs openssl dgst -sha256 -r < ../half.0 > ../sums.0 &
xargs openssl dgst -sha256 -r < ../half.1 > ../sums.1 && wait $!; } &&
cd .. && sort -k2 sums.0 sums.1 | cmp - expected`
)

func wget(threads int) contender {
	return contender{name: wgetName, needs: []string{"curl", "wget2", "openssl"}, command: func(s *served, dir string) (*exec.Cmd, error) {
		var urls strings.Builder
		for _, f := range s.files {
			fmt.Fprintln(&urls, s.downloadURL(f))
		}
		// wget2 names a redirected file after the first address. Its threads sometimes
		// race to make the folders, so make them first.
		script := fmt.Sprintf(askHashes+`mkdir -p Download/Data/%[3]s &&
wget2 -q --max-threads=%[2]d --cut-file-get-vars -i urls &&
rmdir files && mv Download/Data/%[3]s files`+hashAndCompare, hashesAtATime, threads, release)
		return shell(s, dir, script, map[string]string{"urls": urls.String()})
	}}
}

func curl(atATime int) contender {
	return contender{name: curlName, needs: []string{"curl", "openssl"}, command: func(s *served, dir string) (*exec.Cmd, error) {
		script := fmt.Sprintf(askHashes+"curl -sS --no-progress-meter --fail -L --parallel --parallel-max %[2]d -K files.curl"+hashAndCompare, hashesAtATime, atATime)
		return shell(s, dir, script, map[string]string{"files.curl": curlConfig(s, "files", s.downloadURL)})
	}}
}

// aria returns aria2 with these options for its number of connections.
func aria(name, connections string) contender {
	return contender{name: name, needs: []string{"curl", "aria2c"}, command: func(s *served, dir string) (*exec.Cmd, error) {
		var urls strings.Builder
		for _, f := range s.files {
			fmt.Fprintf(&urls, "%s *%s\n", s.downloadURL(f), f.name)
		}
		script := fmt.Sprintf(askHashes+`awk 'NR == FNR { sum[$2] = $1; next } { print $1; print " out=" substr($2, 2); print " checksum=sha-256=" sum[$2] }' expected urls > list &&
aria2c -q --no-conf %[2]s --file-allocation=none --disk-cache=64M --async-dns=false --summary-interval=0 --auto-save-interval=0 -d files -i list`, hashesAtATime, connections)
		return shell(s, dir, script, map[string]string{"urls": urls.String()})
	}}
}

// hashesAtATime was the fastest of 2, 4, 8, 16, 32 and 64 for thousands of digests.
const hashesAtATime = 16

// curlConfig returns a curl configuration that fetches one URL per file into a folder.
func curlConfig(s *served, folder string, url func(servedFile) string) string {
	var b strings.Builder
	for _, f := range s.files {
		fmt.Fprintf(&b, "url = %q\noutput = %q\n", url(f), folder+"/"+f.name)
	}
	return b.String()
}

// shell writes files, and those that all scripts use, into dir and returns the command
// that runs script there.
func shell(s *served, dir, script string, files map[string]string) (*exec.Cmd, error) {
	files["hashes.curl"] = curlConfig(s, "hashes", s.hashURL)
	files["half.0"], files["half.1"] = halves(s.files)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for _, folder := range []string{"hashes", "files"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd, nil
}

// halves splits the files into two lists of nearly equal size, one for each core. The
// time for this does not count against the scripts.
func halves(files []servedFile) (first, second string) {
	var lists [2]strings.Builder
	var bytes [2]int64
	largestFirst := slices.SortedStableFunc(slices.Values(files), func(a, b servedFile) int { return cmp.Compare(b.size, a.size) })
	for _, f := range largestFirst {
		shorter := 0
		if bytes[1] < bytes[0] {
			shorter = 1
		}
		fmt.Fprintln(&lists[shorter], f.name)
		bytes[shorter] += f.size + 16*kib // opening a file costs time too
	}
	return lists[0].String(), lists[1].String()
}
