package syncer_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/emulator"
	"syncd/internal/golive"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/status"
)

func TestRefusesHashMismatchAfterOneCleanRetry(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/b.dat"})
	w.refuses(refusal.HashMismatch)
	equal(t, "downloads", w.downloads(), []string{"b.dat", "b.dat"})
	for _, r := range w.provider.Requests() {
		if r.Header.Get("Range") != "" {
			t.Errorf("the retry continued at %s, it must start from zero", r.Header.Get("Range"))
		}
	}
	equal(t, "digests asked, and all again after the mismatch", len(w.asked("/SHA256/")), 8)
	equal(t, "verify failures", w.metric("syncd_verify_failures_total", "manifest=data"), 2.0)
}

func TestAMismatchThatACleanRetryMendsIsNoFailure(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/b.dat", Times: 1})
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "digests asked", len(w.asked("/SHA256/")), 4)
	w.serves("data", october())
}

// staleDigest makes the Hash endpoint answer once with an old digest of b.dat.
func (w *world) staleDigest(hex string) {
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*/b.dat", Times: 1, Body: `"` + strings.Repeat(hex, 32) + `"`})
}

func TestChangedDigestsAfterAMismatchStartThePlanOver(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.staleDigest("ab")
	w.expect(w.demand(), "data", report.Updated)
	equal(t, "lists asked", len(w.asked("/Manifest/")), 2)
	equal(t, "digests asked", len(w.asked("/SHA256/")), 8)
	w.serves("data", october())
}

func TestEachManifestOfAMismatchIsLookedAtAgain(t *testing.T) {
	w := start(t, "one", "two")
	for _, name := range []string{"one", "two"} {
		w.publish(name, "2026.09", files{name + ".dat": "shared"})
		w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*/" + name + ".dat", Times: 1, Body: `"` + strings.Repeat("ab", 32) + `"`})
	}
	result := w.demand()
	w.expect(result, "one", report.Updated)
	w.expect(result, "two", report.Updated)
}

func TestAPlanThatStartsOverKeepsItsDownloads(t *testing.T) {
	for _, algorithm := range []manifest.Algorithm{manifest.SHA256, manifest.MD5} {
		w := start(t, "data")
		w.cfg.Algorithm = algorithm
		w.comesLast("b.dat")
		w.publish("data", "2026.09", september())
		stale := strings.Repeat("ab", map[manifest.Algorithm]int{manifest.SHA256: 32, manifest.MD5: 16}[algorithm])
		w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/" + algorithm.String() + "/*/b.dat", Times: 1, Body: `"` + stale + `"`})
		m := w.expect(w.demand(), "data", report.Updated)
		equal(t, "downloads", w.downloads(), []string{"a.dat", "b.dat", "b.dat", "b.dat", "c.txt", "d.lic"})
		equal(t, "files", []int{m.FilesTotal, m.FilesDownloaded, m.FilesReused}, []int{4, 4, 0})
		equal(t, "bytes reused", m.BytesReused, int64(0))
	}
}

func TestThePlanStartsOverOnlyOnce(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.staleDigest("ab")
	w.staleDigest("cd")
	w.refuses(refusal.HashMismatch)
	equal(t, "lists asked", len(w.asked("/Manifest/")), 2)
	w.expect(w.demand(), "data", report.Updated)
}

func TestRefusesBadName(t *testing.T) {
	w := served(t)
	for _, name := range []string{
		"..", ".", "%2e%2e", "%2E.", "a%2fb", "..%2F..%2Fetc%2Fpasswd", `a\b`, "a%5Cb", "a%00b", "a%0Ab", "a%1B[2J", "a%7F",
		"%C3%28", "a%C2%85", "a%zz", strings.Repeat("n", 256), "",
	} {
		t.Run(url.QueryEscape(fmt.Sprintf("%.20s", name)), func(t *testing.T) {
			base := w.provider.URL() + "/Download/Data/2026.10/"
			w.provider.SetLinks("data", "2026.10", base+"a.dat", base+"b.dat", base+name+"/?ID=1")
			if name == "" {
				w.provider.SetLinks("data", "2026.10", base+"a.dat", base+"b.dat", w.provider.URL()+"/Download/Data//c.txt")
			}
			w.refuses(refusal.BadName)
			equal(t, "asked for files", slices.Concat(w.asked("/SHA256/"), w.downloads()), []string(nil))
		})
	}
}

func TestANameOf255BytesIsTaken(t *testing.T) {
	w := start(t, "data")
	want := files{strings.Repeat("n", 255): "long", "ünï ço+de%.dat": "odd", "#?&=;'\".x": "odder", "-rf": "option"}
	w.publish("data", "2026.09", want)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", want)
}

func TestRefusesPathClash(t *testing.T) {
	for name, links := range map[string][]string{
		"two files at one path":        {"Data/2026.10/a.dat", "Data/2026.09/a.dat"},
		"a file and a folder":          {"Data/2026.10/linux", "Library/LINUX/GCC48/64BIT/2026.10/libx.so"},
		"a file inside another's path": {"Library/LINUX/GCC48/64BIT/2026.10/libx.so", "Library/LINUX/ANY/ANY/2026.10/x", "Data/2026.10/linux"},
		"names that differ in case":    {"Data/2026.10/a.dat", "Data/2026.10/A.dat"},
		"a folder that differs":        {"Data/2026.10/INTERFACES", "Interface/ANY/JAVA/ANY/2026.10/x.jar"},
		"Data and Product":             {"Data/2026.10/a.zip", "Product/2026.10/a.zip"},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			for i, link := range links {
				links[i] = w.provider.URL() + "/Download/" + link
			}
			w.provider.SetLinks("data", "2026.10", append(links, w.provider.URL()+"/Download/Data/2026.10/c.txt")...)
			w.refuses(refusal.PathClash)
			equal(t, "asked for files", slices.Concat(w.asked("/SHA256/"), w.downloads()), []string(nil))
		})
	}
}

func TestRefusesEmptyList(t *testing.T) {
	w := served(t)
	w.provider.SetLinks("data", "2026.10")
	m := w.refuses(refusal.Empty)
	if !strings.Contains(m.Error, "2026.10") {
		t.Errorf("error %q does not name the release", m.Error)
	}
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "empty", Path: "/Manifest/*"})
	w.refuses(refusal.Empty)
	w.expect(w.force(), "data", report.Refused) // nothing overrides it
	w.serves("data", september())
}

func TestRefusesShrinkBelowHalf(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", files{"a.dat": "a"})
	m := w.refuses(refusal.Shrink)
	want := "the list of release 2026.10 shrank from 4 files to 1, below guards.min_keep_ratio 0.5: check it with `syncd files data`; `syncd sync --force data` accepts it, `syncd skip data 2026.10` passes over it"
	equal(t, "error", m.Error, want)
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", files{"a.dat": "a"})
}

func TestExactlyHalfOfTheFilesIsTaken(t *testing.T) {
	w := served(t)
	half := files{"a.dat": "a", "b.dat": "b"}
	w.publish("data", "2026.10", half)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", half)
}

func TestRefusesAReleaseWithFarFewerBytes(t *testing.T) {
	long, cut := strings.Repeat("x", 1000), "x"
	w := start(t, "data")
	w.cfg.Guards.MinBytesRatio = 0.5
	w.configure()
	before := files{"a.dat": long, "b.dat": "b", "c.dat": "c"}
	w.publish("data", "2026.09", before)
	w.expect(w.demand(), "data", report.Updated)
	next := files{"a.dat": cut, "b.dat": "b", "c.dat": "c"}
	w.publish("data", "2026.10", next)
	w.provider.ResetRequests()
	m := w.refuses(refusal.Shrink)
	want := "release 2026.10 shrank from 1002 B to 3 B, below guards.min_bytes_ratio 0.5: check it with `syncd files data`; `syncd sync --force data` accepts it, `syncd skip data 2026.10` passes over it"
	equal(t, "error", m.Error, want)
	equal(t, "downloads", w.downloads(), []string(nil)) // Metadata told
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	equal(t, "error", w.refuses(refusal.Shrink).Error, want) // the objects tell
	w.serves("data", before)
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", next)
}

func TestRefusesAFileThatShrank(t *testing.T) {
	const large = 200_000
	whole := strings.Repeat("x", large)
	for name, row := range map[string]struct {
		next files
		want string // of the error; "" for a release that is accepted
	}{
		"to nothing":           {files{"a.dat": "", "b.dat": "b"}, `"a.dat" is empty and had 195 KiB`},
		"a small one, too":     {files{"a.dat": whole, "b.dat": ""}, `"b.dat" is empty and had 10 B`},
		"by more than 90 %":    {files{"a.dat": strings.Repeat("y", 19_999), "b.dat": "b"}, `"a.dat" shrank from 195 KiB to 20 KiB`},
		"several":              {files{"a.dat": "", "b.dat": ""}, `"a.dat" is empty and had 195 KiB (and 1 more)`},
		"by exactly 90 %":      {next: files{"a.dat": strings.Repeat("y", large/10), "b.dat": "b"}},
		"a small one by a lot": {next: files{"a.dat": whole, "b.dat": "b"}},
		"gone, another new":    {next: files{"b.dat": "long before", "c.dat": ""}},
	} {
		for _, how := range []string{"Metadata tells", "the objects tell", "republished"} {
			t.Run(name+", "+how, func(t *testing.T) {
				w := start(t, "data")
				before := files{"a.dat": whole, "b.dat": "long before"[:10]}
				w.publish("data", "2026.09", before)
				w.expect(w.demand(), "data", report.Updated)
				release := "2026.10"
				switch how {
				case "the objects tell":
					w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
				case "republished":
					release = "2026.09"
				}
				w.publish("data", release, row.next)
				if row.want == "" {
					w.expect(w.demand(), "data", report.Updated)
					w.serves("data", row.next)
					return
				}
				m := w.refuses(refusal.Shrink)
				choice := "check it with `syncd files data`; `syncd sync --force data` accepts it"
				if how != "republished" { // nothing can skip what is served
					choice += ", `syncd skip data " + release + "` passes over it"
				}
				equal(t, "error", m.Error, "release "+release+": the file "+row.want+", beyond guards.max_file_shrink 90%: "+choice)
				w.serves("data", before)
				w.expect(w.force(), "data", report.Updated)
				w.serves("data", row.next)
			})
		}
	}
}

func TestAnEmptyFileOfMetadataAloneIsNoShrinking(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", files{"a.dat": strings.Repeat("x", 200_000)})
	w.expect(w.demand(), "data", report.Updated)
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*", Body: `{"FileSize":"0"}`})
	next := files{"a.dat": strings.Repeat("y", 200_000)}
	w.publish("data", "2026.10", next)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", next)
}

func TestGoingBackToSmallerFilesIsNoShrinking(t *testing.T) {
	w := start(t, "data")
	small, large := files{"a.dat": "a"}, files{"a.dat": strings.Repeat("x", 200_000)}
	w.publish("data", "2026.09", small)
	w.publish("data", "2026.10", large)
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", large)
	w.target("data", func(t *golive.Target) { t.Release = "2026.09" })
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", small)
}

func TestAnyShrinkingIsAcceptedOfAllBytes(t *testing.T) {
	w := start(t, "data")
	w.cfg.Guards.MaxFileShrink = 1
	w.configure()
	w.publish("data", "2026.09", files{"a.dat": "a", "b.dat": "b"})
	w.expect(w.demand(), "data", report.Updated)
	w.publish("data", "2026.10", files{"a.dat": "", "b.dat": "b"})
	w.expect(w.demand(), "data", report.Updated)
}

func TestANarrowerSelectionIsNoShrinkingInBytes(t *testing.T) {
	w := start(t, "data")
	w.cfg.Guards.MinBytesRatio = 1
	w.configure()
	w.publish("data", "2026.09", files{"a.dat": strings.Repeat("x", 1000), "b.dat": "b"})
	w.expect(w.demand(), "data", report.Updated)
	w.target("data", func(t *golive.Target) { t.Filter.Exclude = []string{"a.dat"} })
	w.expect(w.demand(), "data", report.Updated)
	w.serves("data", files{"b.dat": "b"})
	w.target("data", func(t *golive.Target) { t.Filter.Exclude = nil })
	w.expect(w.demand(), "data", report.Updated)
	w.publish("data", "2026.10", files{"a.dat": strings.Repeat("x", 998), "b.dat": "bb"})
	w.refuses(refusal.Shrink)
}

func TestShrinkCountsFilesBeforeFilters(t *testing.T) {
	w := served(t)
	w.target("data", func(t *golive.Target) { t.Filter.Include = []string{"a.dat"} })
	w.expect(w.poll(), "data", report.Updated) // one of four by a filter is no shrinking
	w.target("data", func(t *golive.Target) { t.Filter.Include = nil })
	w.publish("data", "2026.10", files{"a.dat": "a"})
	w.refuses(refusal.Shrink)
}

func TestRefusesDowngradeUntilForced(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
	w.provider.RemoveRelease("data", "2026.10")
	m := w.refuses(refusal.Downgrade)
	if m.Release != "2026.10" || !strings.Contains(m.Error, "2026.09") {
		t.Errorf("serves %s, error %q", m.Release, m.Error)
	}
	w.pass(48 * time.Hour)
	w.expect(w.poll(), "data", report.Refused) // never by itself
	w.expect(w.force(), "data", report.Updated)
	w.serves("data", september())
	w.expect(w.demand(), "data", report.Unchanged)
}

func TestRefusesNoSpaceByMetadata(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*", Body: `{"FileSize":"1000000000000000"}`})
	m := w.refuses(refusal.NoSpace)
	if !strings.Contains(m.Error, "909 TiB") || !strings.Contains(m.Error, "free") {
		t.Errorf("error %q does not tell numbers", m.Error)
	}
	equal(t, "downloads", len(w.downloads()), 0)
}

func TestRefusesNoSpaceByContentLengthWithoutMetadata(t *testing.T) {
	w := served(t)
	content := october()
	delete(content, "b.dat")
	w.publish("data", "2026.10", content)
	w.provider.SetManifest("data", "2026.10", emulator.File{Name: "a.dat", Release: "2026.09"}, emulator.File{Name: "c.txt", Release: "2026.09"},
		emulator.File{Name: "huge.dat", Content: emulator.Random(1, 1<<49)})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindStatus, Status: 404, Path: "/Metadata/*"})
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/SHA256/*/huge.dat", Body: strings.Repeat("ab", 32)})
	w.refuses(refusal.NoSpace)
	equal(t, "downloads", w.downloads(), []string{"huge.dat"})
}

func TestAManifestThatDoesNotFitLeavesRoomForOthers(t *testing.T) {
	w := start(t, "huge", "data")
	w.publish("huge", "2026.09", files{"h.dat": "h"})
	w.publish("data", "2026.09", september())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindBody, Path: "/Metadata/*/h.dat", Body: `{"FileSize":"1000000000000000"}`})
	result := w.demand()
	equal(t, "reason", w.expect(result, "huge", report.Refused).Reason, "no_space")
	w.expect(result, "data", report.Updated)
}

func TestRefusesTooLarge(t *testing.T) {
	for _, path := range []string{"/ManifestReleases/*", "/Manifest/*", "/SHA256/*"} {
		t.Run(path[1:strings.LastIndexByte(path, '/')], func(t *testing.T) {
			w := served(t)
			w.provider.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "huge", Path: path})
			w.refuses(refusal.TooLarge)
		})
	}
}

func TestRefusesBadShape(t *testing.T) {
	w := served(t)
	bodies := map[string]emulator.Fault{
		"none of the releases a month": {Kind: emulator.KindBody, Path: "/ManifestReleases/*", Body: `["2026.Q4","next"]`},
		"no releases":                  {Kind: emulator.KindBody, Path: "/ManifestReleases/*", Body: `[]`},
		"a list with a null":           {Kind: emulator.KindBody, Path: "/Manifest/*", Body: `[null]`},
		"a list of numbers":            {Kind: emulator.KindBody, Path: "/Manifest/*", Body: `[1]`},
		"a link without a file":        {Kind: emulator.KindBody, Path: "/Manifest/*", Body: `["https://example.net/help"]`},
		"a digest that says invalid":   {Kind: emulator.KindBody, Path: "/SHA256/*", Body: `"invalid license"`},
		"a digest of another length":   {Kind: emulator.KindBody, Path: "/SHA256/*", Body: `"abcd"`},
		"two digests":                  {Kind: emulator.KindBody, Path: "/SHA256/*", Body: `["ab","cd"]`},
	}
	for _, path := range []string{"/ManifestReleases/*", "/Manifest/*", "/SHA256/*"} {
		for _, shape := range []string{"html", "object", "error", "null", "nonsense", "echo"} {
			bodies[shape+" from "+path] = emulator.Fault{Kind: emulator.KindShape, Shape: shape, Path: path}
		}
	}
	for name, fault := range bodies {
		t.Run(name, func(t *testing.T) {
			w.provider.ClearFaults()
			w.provider.AddFault(fault)
			w.refuses(refusal.BadShape)
		})
	}
	w.provider.ClearFaults()
	w.expect(w.demand(), "data", report.Unchanged)
}

func TestRefusesInsecureRedirect(t *testing.T) {
	for _, path := range []string{"/Download/*", "/Manifest/*", "/ManifestReleases/*"} {
		t.Run(path[1:strings.LastIndexByte(path, '/')], func(t *testing.T) {
			w := served(t)
			w.publish("data", "2026.10", october())
			w.provider.AddFault(emulator.Fault{Kind: emulator.KindRedirect, Path: path, Location: "http://192.0.2.7/x?ID={id}"})
			w.refuses(refusal.Insecure)
		})
	}
}

func TestRefusesAReleaseFarAheadOfTheClockEvenByForce(t *testing.T) {
	w := served(t)
	w.publish("data", "9999.12", october())
	m := w.refuses(refusal.BadRelease)
	if m.Release != "2026.09" || !strings.Contains(m.Error, "9999.12 is more than two months ahead of this machine's clock") {
		t.Errorf("serves %s, error %q", m.Release, m.Error)
	}
	equal(t, "reason", w.expect(w.force(), "data", report.Refused).Reason, "bad_release")
	w.serves("data", september())

	w.target("data", func(t *golive.Target) { t.Release = "9999.12" })
	equal(t, "reason of a pinned one", w.expect(w.poll(), "data", report.Refused).Reason, "bad_release")
	w.target("data", func(t *golive.Target) { t.Release = manifest.Latest })

	w.provider.RemoveRelease("data", "9999.12")
	w.publish("data", "2026.10", october())
	w.expect(w.poll(), "data", report.Updated)
}

func TestForceOverridesNoOtherRefusal(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/b.dat"})
	equal(t, "reason", w.expect(w.force(), "data", report.Refused).Reason, "hash_mismatch")
	w.serves("data", september())
}

func TestARefusedReleaseStandsInTheHistoryUnderItsOwnName(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Path: "*/b.dat"})
	result := w.demand()
	equal(t, "served, tried", [2]string{result.Manifests[0].Release, result.Manifests[0].Tried}, [2]string{"2026.09", "2026.10"})
	history, err := status.History(w.cfg.Mirror, w.cfg.Store, 1)
	must(t, err)
	m := history.Entries[0].Manifests[0]
	equal(t, "in the history", [4]string{m.Release, m.Revision, m.Tried, string(m.Result)}, [4]string{"2026.10", "", "2026.10", "refused"})
}
