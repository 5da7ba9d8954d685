package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// forged is a bundle of one volume whose head fits its members, whatever those are. raw, if
// set, is written in the place of the members.
func forged(t testing.TB, members []Member, raw func(*tar.Writer)) []File {
	t.Helper()
	var body bytes.Buffer
	w := tar.NewWriter(&body)
	id := newIdentity(0, manifest.ObjectID{})
	for _, m := range members {
		from, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: m.Name, Size: m.Size, Mode: 0o644, Typeflag: tar.TypeReg}), write(w, text)); err != nil {
			t.Fatal(err)
		}
		id.member(m.Name, m.Size)
	}
	if raw != nil {
		raw(w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h := head{ID: id.of(members[0].SHA256), Volume: 1, Volumes: 1, Number: 7, Bytes: headSize + int64(body.Len())}
	whole := append(h.bytes(), body.Bytes()...)
	return []File{{"hostile.tar", int64(len(whole)), bytes.NewReader(whole)}}
}

func write(w io.Writer, text []byte) error {
	_, err := w.Write(text)
	return err
}

func TestForgedIsReadWhenItIsWellFormed(t *testing.T) {
	g, members := sample(t, 7, two()...)
	for _, members := range [][]Member{members, patched(g, members)} {
		if _, err := Open(t.Context(), forged(t, members, nil), Whole); err != nil {
			t.Error(err)
		}
	}
}

// A bundle has regular members with their usual header only.
func TestOtherKindsOfMembersAreRefused(t *testing.T) {
	_, members := sample(t, 7, two()...)
	name := bucket.ObjectName(sha256.Sum256([]byte("x")))
	for row, h := range map[string]*tar.Header{
		"symlink":     {Typeflag: tar.TypeSymlink, Name: name, Linkname: "/etc/passwd"},
		"hard link":   {Typeflag: tar.TypeLink, Name: name, Linkname: "current.json"},
		"device":      {Typeflag: tar.TypeBlock, Name: name, Devmajor: 8},
		"character":   {Typeflag: tar.TypeChar, Name: name, Devmajor: 1, Devminor: 3},
		"fifo":        {Typeflag: tar.TypeFifo, Name: name},
		"folder":      {Typeflag: tar.TypeDir, Name: "objects/"},
		"global":      {Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"comment": "x"}},
		"attribute":   {Typeflag: tar.TypeReg, Name: name, Mode: 0o644, PAXRecords: map[string]string{"SCHILY.xattr.user.x": "1"}},
		"other mode":  {Typeflag: tar.TypeReg, Name: name, Mode: 0o4755},
		"owner":       {Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Uid: 1},
		"GNU":         {Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Format: tar.FormatGNU},
		"path up":     {Typeflag: tar.TypeReg, Name: "../" + name, Mode: 0o644},
		"path inside": {Typeflag: tar.TypeReg, Name: "objects/../" + name, Mode: 0o644},
		"absolute":    {Typeflag: tar.TypeReg, Name: "/" + name, Mode: 0o644},
		"lease":       {Typeflag: tar.TypeReg, Name: "lease.json", Mode: 0o644},
		"second head": {Typeflag: tar.TypeReg, Name: headName, Mode: 0o644},
		"a part":      {Typeflag: tar.TypeReg, Name: name + ".002", Mode: 0o644},
		"no record":   {Typeflag: tar.TypeReg, Name: "records/dq_one/2026.10-0123456789ab.json", Mode: 0o644},
		"out record":  {Typeflag: tar.TypeReg, Name: "records/../2026.10-0123456789ab.json", Mode: 0o644},
		"late text":   {Typeflag: tar.TypeReg, Name: "trust/1", Mode: 0o644},
		"long name":   {Typeflag: tar.TypeReg, Name: "objects/" + strings.Repeat("a/", 4000) + "a", Mode: 0o644},
	} {
		files := forged(t, members, func(w *tar.Writer) {
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(row, err)
			}
		})
		for _, how := range []Reading{Texts, Whole} {
			if _, err := Open(t.Context(), files, how); refusal.ReasonOf(err) == "" || !strings.Contains(err.Error(), "hostile.tar") || len(err.Error()) > 800 {
				t.Errorf("%s: %v", row, err)
			}
		}
	}
}

// A header may say any size.
func TestSizesThatLieAreRefused(t *testing.T) {
	_, members := sample(t, 7, two()...)
	for _, size := range []int64{1, 512, 1 << 40, 1 << 62} {
		var v bytes.Buffer
		for _, m := range members {
			text, _ := m.Open()
			v.Write(header(m.Name, m.Size))
			_, _ = io.Copy(&v, text)
			v.Write(make([]byte, padding(m.Size)))
		}
		v.Write(header(bucket.ObjectName(sha256.Sum256([]byte("x"))), size))
		v.Write(make([]byte, trailer))
		id := newIdentity(0, manifest.ObjectID{})
		h := head{ID: id.of(members[0].SHA256), Volume: 1, Volumes: 1, Number: 7, Bytes: headSize + int64(v.Len())}
		whole := append(h.bytes(), v.Bytes()...)
		for _, how := range []Reading{Texts, Whole} {
			if _, err := Open(t.Context(), []File{{"hostile.tar", int64(len(whole)), bytes.NewReader(whole)}}, how); refusal.ReasonOf(err) == "" {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	}
}

func TestMembersThatLieAreRefused(t *testing.T) {
	g, _ := sample(t, 7, two()...)
	for row, spoil := range map[string]func(members []Member) []Member{
		"no current":      func(m []Member) []Member { return m[1:] },
		"no generation":   func(m []Member) []Member { return slices.Delete(m, 1, 2) },
		"current only":    func(m []Member) []Member { return m[:1] },
		"current is text": func(m []Member) []Member { m[0] = memberOf(bucket.CurrentName, "<html>"); return m },
		"endless current": func(m []Member) []Member {
			m[0] = memberOf(bucket.CurrentName, strings.Repeat(" ", bucket.MaxText+1))
			return m
		},
		"endless trust":    func(m []Member) []Member { return slices.Insert(m, 2, memberOf("trust/1", strings.Repeat("x", 1<<20))) },
		"endless record":   func(m []Member) []Member { m[2] = memberOf(m[2].Name, strings.Repeat(" ", 8<<20)); return m },
		"other record":     func(m []Member) []Member { m[2] = memberOf(m[2].Name, "{}"); return m },
		"other generation": func(m []Member) []Member { m[1] = memberOf(m[1].Name, string(g.Text())+" "); return m },
		"other number":     func(m []Member) []Member { m[1] = memberOf("generations/8.json", string(g.Text())); return m },
		"order":            func(m []Member) []Member { m[2], m[len(m)-1] = m[len(m)-1], m[2]; return m },
		"content twice":    func(m []Member) []Member { return append(m, m[len(m)-1]) },
		"record twice":     func(m []Member) []Member { return slices.Insert(m, 2, m[2]) },
	} {
		g, members := sample(t, 7, two()...)
		for _, members := range [][]Member{members, patched(g, members)} {
			for _, how := range []Reading{Texts, Whole} {
				if _, err := Open(t.Context(), forged(t, spoil(slices.Clone(members)), nil), how); refusal.ReasonOf(err) == "" {
					t.Errorf("%s: %v", row, err)
				}
			}
		}
	}
}

func TestPatchesThatLieAreRefused(t *testing.T) {
	at := func(m []Member, kind int, begin string) int {
		return slices.IndexFunc(m, func(m Member) bool { return kindOf(m.Name) == kind && strings.HasPrefix(m.Name, begin) })
	}
	change := func(m []Member, spoil func(text string) string) []Member {
		i := at(m, isPatchList, "")
		from, _ := m[i].Open()
		text, _ := io.ReadAll(from)
		m[i] = memberOf(m[i].Name, spoil(string(text)))
		return m
	}
	for row, spoil := range map[string]func(m []Member) []Member{
		"no list":              func(m []Member) []Member { i := at(m, isPatchList, ""); return slices.Delete(m, i, i+1) },
		"no patch":             func(m []Member) []Member { i := at(m, isContent, "patches/"); return slices.Delete(m, i, i+1) },
		"list behind contents": func(m []Member) []Member { i := at(m, isPatchList, ""); return append(slices.Delete(m, i, i+1), m[i]) },
		"list of no record": func(m []Member) []Member {
			i := at(m, isPatchList, "")
			m[i].Name = "patches/dq_x/2026.10-0123456789ab.json"
			return m
		},
		"a patch twice":    func(m []Member) []Member { return append(m, m[at(m, isContent, "patches/")]) },
		"another spelling": func(m []Member) []Member { return change(m, func(s string) string { return s + " " }) },
		"without digests": func(m []Member) []Member {
			return change(m, func(s string) string { return strings.ReplaceAll(s, "\"sha256\"", "\"sha\"") })
		},
		"other size": func(m []Member) []Member {
			return change(m, func(s string) string { return strings.Replace(s, "\"size\": ", "\"size\": 1", 1) })
		},
		"endless list": func(m []Member) []Member {
			return change(m, func(string) string { return strings.Repeat(" ", bucket.MaxText+1) })
		},
	} {
		g, members := sample(t, 7, two()...)
		for _, how := range []Reading{Texts, Whole} {
			if _, err := Open(t.Context(), forged(t, spoil(patched(g, members)), nil), how); refusal.ReasonOf(err) == "" {
				t.Errorf("%s: %v", row, err)
			}
		}
	}
}

// Texts are read before a signature is checked, so that many empty ones must not fill the memory.
func TestEndlessTrustTextsAreRefused(t *testing.T) {
	_, members := sample(t, 7, two()...)
	var trusts []Member
	for i := range maxTrusts + 1 {
		trusts = append(trusts, memberOf(bucket.TrustName(i+1), ""))
	}
	if _, err := Open(t.Context(), forged(t, slices.Insert(members, 2, trusts...), nil), Texts); refusal.ReasonOf(err) != refusal.TooLarge {
		t.Error(err)
	}
	if most := trust.MaxChain / maxTrusts; most > 128 {
		t.Errorf("a trust file may have texts of %d bytes, more of them than a bundle", most)
	}
}

// Each record has a list, so that the lists together must not fill the memory either.
func TestTooManyPatchesAreRefused(t *testing.T) {
	g, members := sample(t, 7, two()...)
	at := slices.IndexFunc(members, func(m Member) bool { return kindOf(m.Name) == isContent })
	for n, m := range g.Manifests {
		var list []bucket.Patch
		for i := range bucket.MaxPatches/len(g.Manifests) + 1 {
			id := sha256.Sum256(fmt.Append(nil, n, i))
			list = append(list, bucket.Patch{Old: bucket.Empty, New: id, Size: 1, SHA256: id})
		}
		text := bucket.NewPatchList(list, func(manifest.ObjectID) int64 { return 0 }).Text()
		members = slices.Insert(members, at+n, memberOf(bucket.PatchListName(m), string(text)))
	}
	for _, how := range []Reading{Texts, Whole} {
		if _, err := Open(t.Context(), forged(t, slices.Clone(members), nil), how); refusal.ReasonOf(err) != refusal.TooLarge {
			t.Error(err)
		}
	}
}

func TestRecordsWithoutADigestAreRefused(t *testing.T) {
	g, members := sample(t, 7, two()...)
	g.Manifests[0].RecordSHA256 = manifest.ObjectID{}
	current := bucket.Current{Generation: 7, SHA256: sha256.Sum256(g.Text()), Publisher: "host-1"}
	members[0], members[1] = memberOf(bucket.CurrentName, string(current.Text())), memberOf(bucket.GenerationName(7), string(g.Text()))
	if _, err := Open(t.Context(), forged(t, members, nil), Texts); err == nil || !strings.Contains(err.Error(), "by its digest") {
		t.Error(err)
	}
}

func TestReceiptsAreReadAsTheyWereWritten(t *testing.T) {
	ids := []manifest.ObjectID{{3}, {1}, {2}, {1}}
	r, err := NewReceipt("far-side", ids)
	if err != nil || r.Len() != 3 || !r.Has(manifest.ObjectID{2}) || r.Has(manifest.ObjectID{4}) {
		t.Fatalf("%+v, %v", r, err)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := ParseReceipt(text.Bytes())
	if err != nil || again.ID != r.ID || again.Host != "far-side" || !slices.Equal(again.contents, r.contents) {
		t.Errorf("%+v, %v", again, err)
	}
	for row, bad := range map[string]string{
		"empty": "", "header only": receiptHeader + "\n", "cut": text.String()[:text.Len()-1], "more": text.String() + "\n",
		"order": receiptHeader + "\nhost a\ncontents 2\n" + strings.Repeat("1", 64) + "\n" + strings.Repeat("0", 64) + "\n",
		"twice": receiptHeader + "\nhost a\ncontents 2\n" + strings.Repeat(strings.Repeat("1", 64)+"\n", 2),
		"count": strings.Replace(text.String(), "contents 3", "contents 4", 1), "huge": strings.Replace(text.String(), "contents 3", "contents 99999999999", 1),
		"upper": strings.ToUpper(text.String()), "host": strings.Replace(text.String(), "host far-side", "host \x1b[2J", 1), "sign": strings.Replace(text.String(), "contents 3", "contents +3", 1),
	} {
		if r, err := ParseReceipt([]byte(bad)); err == nil || r.contents != nil {
			t.Errorf("%s: %+v", row, r)
		}
	}
}
