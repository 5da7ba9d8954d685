package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/config/document"
)

func TestMapFilesAreReadAndErrorsNameTheirPlace(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("good.map", "\uFEFFmdAddr.dat|DATA|ANY|ANY|ANY|x/mdAddr.dat\r\n")
	write("bad.map", "mdAddr.dat|DATA|ANY|ANY|ANY|x/mdAddr.dat\nx.dat|DATA|ANY|ANY|ANY|../x\n")
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo.map"), 0o600))
	for name, problem := range map[string]string{
		"good.map":   "",
		"bad.map":    `is not a usable map file: line 2: "x.dat": the path "../x": path segment ".."; correct the map file`,
		"absent.map": "cannot be read: no such file or directory; check that the map file is there and that syncd's user may read it",
		"fifo.map":   "cannot be read: not a regular file; check that the map file is there and that syncd's user may read it",
	} {
		path := filepath.Join(dir, "syncd.yaml")
		write("syncd.yaml", minimal+"views:\n  - name: v\n    layout: map\n    map_files:\n      dq_addr_data: "+name+"\n")
		c, err := Load(path, Environment{})
		must(t, err)
		err = c.CheckMaps()
		var got *document.Error
		if problem == "" && err == nil {
			continue
		}
		want := path + ":10:21: views[0].map_files.dq_addr_data: " + problem
		if !errors.As(err, &got) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if errors.Is(err, fs.ErrNotExist) != strings.HasPrefix(name, "absent") {
			t.Errorf("ErrNotExist of %v", err)
		}
	}
}
