package manifest

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
)

func TestParseObjectID(t *testing.T) {
	for text, ok := range map[string]bool{
		emptySHA256:                  true,
		strings.ToUpper(emptySHA256): false,
		emptySHA256[1:]:              false,
		emptySHA256 + "0":            false,
		" " + emptySHA256[1:]:        false,
		"g" + emptySHA256[1:]:        false,
		"../../etc/passwd":           false,
		"":                           false,
	} {
		id, err := ParseObjectID(text)
		if (err == nil) != ok || ok && id.String() != text || !ok && !id.IsZero() {
			t.Errorf("%q: %s, %v", text, id, err)
		}
	}
}

func TestIDsAndDigestsAreTextInJSON(t *testing.T) {
	type both struct {
		ID     ObjectID `json:"id,omitzero"`
		Digest Digest   `json:"digest"`
	}
	for text, want := range map[string]string{
		`{"id":"` + emptySHA256 + `","digest":"md5:` + emptyMD5 + `"}`: "",
		`{"digest":""}`: "",
		`{"digest":"MD5:` + strings.ToUpper(emptyMD5) + `"}`: `{"digest":"md5:` + emptyMD5 + `"}`,
		`{"digest":"sha512:00"}`:                             `{"digest":""}`,
		`{"digest":"md5:00"}`:                                `{"digest":""}`,
	} {
		var b both
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		want = cmp.Or(want, text)
		if again, err := json.Marshal(b); err != nil || string(again) != want {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"id":"e3b0"}`), &both{}); err == nil {
		t.Error("a part of an ID is read as one")
	}
}

func TestAnObjectIDAndItsDigestAreOne(t *testing.T) {
	id := ObjectID{1, 2, 3}
	if got, ok := id.Digest().ObjectID(); !ok || got != id {
		t.Errorf("%s, %v", got, ok)
	}
	if id.Digest().Hex() != id.String() {
		t.Errorf("%s", id.Digest())
	}
	if got, ok := (Digest{Algorithm: MD5, Sum: id}).ObjectID(); ok || !got.IsZero() {
		t.Errorf("an MD5 names %s", got)
	}
}
