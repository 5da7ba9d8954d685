package manifest

import (
	"strings"
	"testing"

	"syncd/internal/manifest/refusal"
)

const (
	emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	emptySHA1   = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
	emptyMD5    = "d41d8cd98f00b204e9800998ecf8427e"
)

func TestParseDigest(t *testing.T) {
	rows := []struct {
		name      string
		algorithm Algorithm
		text      string
		want      string // "" for a refusal
	}{
		{"sha256", SHA256, emptySHA256, "sha256:" + emptySHA256},
		{"sha1", SHA1, emptySHA1, "sha1:" + emptySHA1},
		{"md5", MD5, emptyMD5, "md5:" + emptyMD5},
		{"capitals", MD5, strings.ToUpper(emptyMD5), "md5:" + emptyMD5},
		{"white space around", MD5, " \t" + emptyMD5 + "\r\n", "md5:" + emptyMD5},
		{"empty", SHA256, "", ""},
		{"an error in words", SHA256, "invalidLicense", ""},
		{"words of the right length", SHA1, strings.Repeat("invalid!", 5), ""},
		{"another algorithm's", SHA256, emptyMD5, ""},
		{"one digit short", MD5, emptyMD5[1:], ""},
		{"one digit more", MD5, emptyMD5 + "0", ""},
		{"white space within", MD5, emptyMD5[:15] + " " + emptyMD5[16:], ""},
		{"in quotes", MD5, `"` + emptyMD5 + `"`, ""},
		{"digits beyond ASCII", MD5, strings.Repeat("０", 32), ""},
		{"no algorithm", 0, "deadbeef", ""},
		{"no algorithm and nothing", 0, "", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParseDigest(row.algorithm, row.text)
			if got.String() != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
			if (refusal.ReasonOf(err) == refusal.BadShape) != (row.want == "") || (err == nil) != (row.want != "") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Fuzz(func(t *testing.T, algorithm, text string) {
		d, err := ParseDigest(ParseAlgorithm(algorithm), text)
		if err != nil {
			if d != (Digest{}) || refusal.ReasonOf(err) != refusal.BadShape || len(err.Error()) > 500 {
				t.Fatalf("%+v, %v", d, err)
			}
			return
		}
		if len(d.Hex()) < 32 || strings.Trim(d.Hex(), "0123456789abcdef") != "" {
			t.Fatalf("%q became %q", text, d)
		}
		if again, err := ParseDigest(d.Algorithm, d.Hex()); err != nil || again != d {
			t.Fatalf("%q reads as %q, %v", d, again, err)
		}
	})
}

func TestParseAlgorithmReadsWhatStringWrites(t *testing.T) {
	for _, want := range []Algorithm{SHA256, SHA1, MD5} {
		for _, name := range []string{want.String(), strings.ToLower(want.String())} {
			if got := ParseAlgorithm(name); got != want {
				t.Errorf("%q became %q", name, got)
			}
		}
	}
	for _, name := range []string{"", "CRC32", "SHA", "SHA2566", "sha-256"} {
		if got := ParseAlgorithm(name); got != 0 {
			t.Errorf("%q became %q", name, got)
		}
	}
}

func TestTheDigestOfNoBytesIsKnown(t *testing.T) {
	for algorithm, text := range map[Algorithm]string{
		SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		SHA1:   "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		MD5:    "d41d8cd98f00b204e9800998ecf8427e",
	} {
		d, err := ParseDigest(algorithm, text)
		if err != nil || !d.IsOfNothing() {
			t.Errorf("%s %s: %v", algorithm, text, err)
		}
		if d.Sum[0]++; d.IsOfNothing() {
			t.Errorf("%s of other bytes is that of none", algorithm)
		}
	}
	if (Digest{}).IsOfNothing() {
		t.Error("an unknown digest is that of no bytes")
	}
}
