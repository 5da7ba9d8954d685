package contender

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"syncd/bench/internal/provider"
)

// The names of the scripts in tables.
const (
	WgetName         = "wget2 + openssl"
	CurlName         = "curl + openssl"
	CurlDefaultsName = "curl -Z + openssl"
	AriaName         = "aria2"
)

// The scripts fetch all digests first, over kept connections, and fail on a wrong one.
// They neither fsync nor swap.
const (
	askHashes = `curl -sS --no-progress-meter --fail --parallel %s -K hashes.curl &&
(cd hashes && awk '{print $1 " *" FILENAME}' *) > expected && `
	// hashAndCompare starts openssl once for each of two cores, because starting it costs
	// time. Debian's sha256sum does not use the CPU's SHA instructions.
	hashAndCompare = ` && cd files && {
xargs openssl dgst -sha256 -r < ../half.0 > ../sums.0 &
xargs openssl dgst -sha256 -r < ../half.1 > ../sums.1 && wait $!; } &&
cd .. && sort -k2 sums.0 sums.1 | cmp - expected`
)

// hashesAtATime was the fastest of 2, 4, 8, 16, 32 and 64 for thousands of digests.
const hashesAtATime = "--parallel-max 16"

// Wget returns wget2 with this number of connections. Over https it uses HTTP/1.1, with
// which it is faster.
func Wget(threads int) Contender {
	return Contender{Name: WgetName, Needs: []string{"curl", "wget2", "openssl"}, Command: func(p provider.Provider, dir string) (*exec.Cmd, error) {
		var urls strings.Builder
		for _, f := range p.Files() {
			fmt.Fprintln(&urls, provider.Address(p, "Download", f))
		}
		options := fmt.Sprintf("--max-threads=%d", threads)
		if p.CAFile() != "" {
			options += " --no-http2 --ca-certificate=" + p.CAFile()
		}
		// wget2 names a redirected file after the first address. Its threads sometimes
		// race to make the folders, so make them first.
		script := fmt.Sprintf(askHashes+`mkdir -p Download/Data/%[3]s &&
wget2 -q %[2]s --cut-file-get-vars -i urls &&
rmdir files && mv Download/Data/%[3]s files`+hashAndCompare, hashesAtATime, options, provider.Release)
		return shell(p, dir, script, map[string]string{"urls": urls.String()})
	}}
}

// Curl returns curl --parallel with these options for the files.
func Curl(options string) Contender { return curl(CurlName, hashesAtATime, options) }

// CurlDefaults returns curl --parallel with its defaults for digests and files.
func CurlDefaults() Contender { return curl(CurlDefaultsName, "", "") }

func curl(name, hashOptions, options string) Contender {
	return Contender{Name: name, Needs: []string{"curl", "openssl"}, Command: func(p provider.Provider, dir string) (*exec.Cmd, error) {
		script := fmt.Sprintf(askHashes+"curl -sS --no-progress-meter --fail -L --parallel %[2]s -K files.curl"+hashAndCompare, hashOptions, options)
		return shell(p, dir, script, map[string]string{"files.curl": curlConfig(p, "files", "Download")})
	}}
}

// Aria returns aria2 with these options for its number of connections.
func Aria(name, connections string) Contender {
	return Contender{Name: name, Needs: []string{"curl", "aria2c"}, Command: func(p provider.Provider, dir string) (*exec.Cmd, error) {
		var urls strings.Builder
		for _, f := range p.Files() {
			fmt.Fprintf(&urls, "%s *%s\n", provider.Address(p, "Download", f), f.Name)
		}
		options := connections
		if p.CAFile() != "" {
			options += " --ca-certificate=" + p.CAFile()
		}
		script := fmt.Sprintf(askHashes+`awk 'NR == FNR { sum[$2] = $1; next } { print $1; print " out=" substr($2, 2); print " checksum=sha-256=" sum[$2] }' expected urls > list &&
aria2c -q --no-conf %[2]s --file-allocation=none --disk-cache=64M --async-dns=false --summary-interval=0 --auto-save-interval=0 -d files -i list`, hashesAtATime, options)
		return shell(p, dir, script, map[string]string{"urls": urls.String()})
	}}
}

// curlConfig returns a curl configuration that fetches one URL per file into a folder.
func curlConfig(p provider.Provider, folder, endpoint string) string {
	var b strings.Builder
	for _, f := range p.Files() {
		fmt.Fprintf(&b, "url = %q\noutput = %q\n", provider.Address(p, endpoint, f), folder+"/"+f.Name)
	}
	return b.String()
}

// shell writes files, and those that all scripts use, into dir and returns the command
// that runs script there.
func shell(p provider.Provider, dir, script string, files map[string]string) (*exec.Cmd, error) {
	files["hashes.curl"] = curlConfig(p, "hashes", "SHA256")
	files["half.0"], files["half.1"] = halves(p.Files())
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
	if p.CAFile() != "" {
		cmd.Env = append(cmd.Env, "CURL_CA_BUNDLE="+p.CAFile())
	}
	return cmd, nil
}

// halves splits the files into two lists of nearly equal size, one for each core. The
// time for this does not count against the scripts.
func halves(files []provider.File) (first, second string) {
	var lists [2]strings.Builder
	var bytes [2]int64
	largestFirst := slices.SortedStableFunc(slices.Values(files), func(a, b provider.File) int { return cmp.Compare(b.Size, a.Size) })
	for _, f := range largestFirst {
		shorter := 0
		if bytes[1] < bytes[0] {
			shorter = 1
		}
		fmt.Fprintln(&lists[shorter], f.Name)
		bytes[shorter] += f.Size + 16*provider.KiB // opening a file costs time too
	}
	return lists[0].String(), lists[1].String()
}
