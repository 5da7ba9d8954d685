package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// hidden are characters that control the terminal, change the direction of text, or take no
// place, with their escapes.
var hidden = map[string]string{
	"\x00": `\u0000`, "\x1b": `\u001b`, "\r": `\u000d`, "\x7f": `\u007f`, "\u0085": `\u0085`, "\u009b": `\u009b`, "\u00ad": `\u00ad`,
	"\u202e": `\u202e`, "\u2066": `\u2066`, "\u061c": `\u061c`, "\u200b": `\u200b`, "\u200d": `\u200d`, "\ufeff": `\ufeff`, "\u2028": `\u2028`,
	"\u00a0": `\u00a0`, "\u3000": `\u3000`, "\u034f": `\u034f`, "\u115f": `\u115f`, "\u3164": `\u3164`, "\uffa0": `\uffa0`, "\u2800": `\u2800`, "\ufe0f": `\ufe0f`,
	"\ue000": `\ue000`, "\U000e0041": `\udb40\udc41`, "\U000e0100": `\udb40\udd00`,
}

func TestHiddenCharactersAreMadeVisible(t *testing.T) {
	for text, want := range hidden {
		if got := string(Visible([]byte("a" + text + "ü\t世\n"))); got != "a"+want+"ü\t世\n" {
			t.Errorf("%+q became %q", text, got)
		}
		if got := VisibleLine("a" + text + "\n\té"); got != "a"+want+`\u000a\u0009é` {
			t.Errorf("in a line, %+q became %q", text, got)
		}
		if got := OneLine("a" + text + "b"); got != "a b" {
			t.Errorf("OneLine of %+q is %q", text, got)
		}
		raw, err := json.Marshal(map[string]string{"name": text})
		var decoded map[string]string
		if err != nil || json.Unmarshal(Visible(raw), &decoded) != nil || decoded["name"] != text {
			t.Errorf("the JSON of %+q became %s", text, Visible(raw))
		}
		if shown, err := VisibleCopy(struct{ Name string }{text}); err != nil || shown.Name != want && text != "\r" && text != "\x7f" {
			t.Errorf("the copy of %+q is %+v, %v", text, shown, err)
		}
	}
	if got := string(Visible([]byte("a\xffb\xe2\x80"))); got != `a\xffb\xe2\x80` {
		t.Errorf("invalid bytes became %q", got)
	}
	if got, err := VisibleCopy([]string{"two\nlines"}); err != nil || got[0] != `two\nlines` {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add([]byte(`{"a":["\u001b\n\\",null,1.5e3,"` + "\u009b\u007f\xff" + `\udb40\udc41\ud83d\ude00\udb40"]}`))
	for text := range hidden {
		f.Add([]byte(`{"` + text + `":"\` + text + `"}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := Visible(raw)
		if string(Visible(out)) != string(out) || !utf8.Valid(out) {
			t.Errorf("%q became %q", raw, out)
		}
		if !json.Valid(raw) {
			return
		}
		if out := VisibleJSON(raw); !json.Valid(out) || string(VisibleJSON(out)) != string(out) {
			t.Errorf("%q became %q", raw, out)
		}
		if utf8.Valid(raw) && !bytes.ContainsRune(raw, '\r') && !json.Valid(out) { // no encoder writes it
			t.Errorf("%q became %q", raw, out)
		}
	})
}
