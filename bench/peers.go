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

// contender is one way to fetch a release into an empty directory and prove it.
type contender struct {
	name    string
	needs   []string // programs
	command func(s *served, dir string) (*exec.Cmd, error)
	check   func(dir string, files int) error // of what it left; nil for who compares by himself
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

// The scripts ask for all hashes first, over kept connections, as whoever wants
// to compare them has to. A failed comparison fails the script: a download that
// nobody checks proves nothing. Neither fsyncs or swaps.
const (
	askHashes = `curl -sS --no-progress-meter --fail --parallel --parallel-max %d -K hashes.curl &&
(cd hashes && awk '{print $1 " *" FILENAME}' *) > promised && `
	// hashAndCompare runs openssl once on each core: its start is not free.
	// Debian's sha256sum does not know the processor's instructions.
	hashAndCompare = ` && cd files && {
xargs openssl dgst -sha256 -r < ../half.0 > ../sums.0 &
xargs openssl dgst -sha256 -r < ../half.1 > ../sums.1 && wait $!; } &&
cd .. && sort -k2 sums.0 sums.1 | cmp - promised`
)

func wget(threads int) contender {
	return contender{name: wgetName, needs: []string{"curl", "wget2", "openssl"}, command: func(s *served, dir string) (*exec.Cmd, error) {
		var urls strings.Builder
		for _, f := range s.files {
			fmt.Fprintln(&urls, s.downloadURL(f))
		}
		// wget2 names what comes by way of a redirect after the first address, and
		// now and then its threads fail over making the folders for it.
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

// aria takes the options that say how many connections it opens.
func aria(name, connections string) contender {
	return contender{name: name, needs: []string{"curl", "aria2c"}, command: func(s *served, dir string) (*exec.Cmd, error) {
		var urls strings.Builder
		for _, f := range s.files {
			fmt.Fprintf(&urls, "%s *%s\n", s.downloadURL(f), f.name)
		}
		script := fmt.Sprintf(askHashes+`awk 'NR == FNR { sum[$2] = $1; next } { print $1; print " out=" substr($2, 2); print " checksum=sha-256=" sum[$2] }' promised urls > list &&
aria2c -q --no-conf %[2]s --file-allocation=none --disk-cache=64M --async-dns=false --summary-interval=0 --auto-save-interval=0 -d files -i list`, hashesAtATime, connections)
		return shell(s, dir, script, map[string]string{"urls": urls.String()})
	}}
}

// hashesAtATime was the best of 2, 4, 8, 16, 32 and 64 for thousands of hashes.
const hashesAtATime = 16

// curlConfig fetches every file of the release into a folder.
func curlConfig(s *served, folder string, url func(servedFile) string) string {
	var b strings.Builder
	for _, f := range s.files {
		fmt.Fprintf(&b, "url = %q\noutput = %q\n", url(f), folder+"/"+f.name)
	}
	return b.String()
}

// shell is a script in dir, which gets the files it names and what all of them use.
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

// halves are two lists of names with the same bytes as nearly as can be: a gift
// to the scripts, which would have to split by size themselves.
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
		bytes[shorter] += f.size + 16*kib // opening costs too
	}
	return lists[0].String(), lists[1].String()
}
