//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// texts returns the text elements of a picture with one of the classes.
func texts(t *testing.T, picture []byte, classes ...string) (found []string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	wanted := false
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "text" {
				wanted = slices.Contains(classes, attribute(token, "class"))
				if wanted {
					found = append(found, "")
				}
			}
		case xml.CharData:
			if wanted {
				found[len(found)-1] += string(token)
			}
		case xml.EndElement:
			wanted = wanted && token.Name.Local != "text"
		}
	}
}

func attribute(element xml.StartElement, name string) string {
	for _, a := range element.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// Viewers that animate nothing show the last screen: lines that were replaced stay hidden.
func TestAPictureKeepsTheLastScreenAndHidesWhatWasReplaced(t *testing.T) {
	t.Parallel()
	r := &recording{}
	r.typeCommand(`syncd sync # <now> & "then"`)
	for _, output := range []string{"[=>  ]\r\n", "\x1b[1A\x1b[J[===>]\r\n", "\x1b[1A\x1b[J", "done\r\nserved\r\n"} {
		r.pause(time.Second)
		if err := r.write([]byte(output)); err != nil {
			t.Fatal(err)
		}
	}
	r.frame()
	picture := r.svg()
	for class, want := range map[string][]string{
		"c t": {`syncd sync # <now> & "then"`}, "g": {"[=>  ]", "[===>]"}, "l": {"done", "served"},
	} {
		if got := texts(t, picture, class); !slices.Equal(got, want) {
			t.Errorf("class %s: got %q, want %q", class, got, want)
		}
	}
}

// The picture in the repository is one of this session, small, and names neither a moment
// nor a folder of the machine that made it.
func TestThePictureOfTheREADMEIsOneOfTheSession(t *testing.T) {
	t.Parallel()
	picture, err := os.ReadFile("../images/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, step := range session {
		commands = append(commands, step.command)
	}
	if got := texts(t, picture, "c t"); !slices.Equal(got, commands) {
		t.Errorf("the picture shows %q, the session has %q: run `make pictures`", got, commands)
	}
	if len(picture) > 100_000 {
		t.Errorf("the picture has %d bytes", len(picture))
	}
	if found := regexp.MustCompile(`/(tmp|home|root)/|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|@font-face|base64`).Find(picture); found != nil {
		t.Errorf("the picture holds %q", found)
	}
	last := strings.Join(texts(t, picture, "l"), "\n")
	for _, want := range []string{"generation 1 is served", "generation 2 is served", "back at 2026.10", "generation 3 stays", "0 damaged"} {
		if !strings.Contains(last, want) {
			t.Errorf("the picture does not show %q:\n%s", want, last)
		}
	}
}
