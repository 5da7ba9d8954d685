package migration

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"syncd/internal/config/migration/commandline"
	exports "syncd/internal/mirror/export"
)

// dataDir is where the configuration keeps the mirror.
const dataDir = "/var/lib/syncd"

// place adds an entry to the view of its target folder.
func (p *plan) place(c commandline.Command, set commandline.Options, e *entry, v *view) {
	if !slices.Contains(v.members, e) {
		v.members = append(v.members, e)
	}
	if !set.Has("map") {
		return
	}
	v.mapped[e] = true
	file, known := p.mapFile(c, set.Get("map"))
	switch {
	case !known:
		v.notes = append(v.notes, c.At.String()+", -m: its map file is not known: add map_files with layout: map if it differs from layout: provider")
	case !p.usableMap(file):
		v.notes = append(v.notes, fmt.Sprintf("%s, -m: %s is no usable map file here: copy it, then add layout: map and map_files", c.At, quoted(file)))
	default:
		v.maps[e] = file
	}
}

// folder returns the target of a command line. Lines with an unknown target share one.
func (p *plan) folder(c commandline.Command, set commandline.Options) (target string, known bool) {
	w := set.Get("target_directory")
	if !set.Has("target_directory") {
		w = commandline.Word{Text: ".", Known: true}
	}
	switch {
	case !w.Known || w.Text == "" || p.secrets.In(w.Text) || !commandline.Printable(w.Text):
		return "", false
	case path.IsAbs(w.Text):
		return c.Outside(path.Clean(w.Text))
	case commandline.IsWindowsPath(w.Text):
		return w.Text, false
	case c.Dir != "" && !c.IsWindows && !p.secrets.In(c.Dir) && commandline.Printable(c.Dir):
		return c.Outside(path.Join(c.Dir, w.Text))
	}
	return "", false
}

// mapFile returns the path of -m. A relative path that begins with a dot counts from the
// folder of the updater.
func (p *plan) mapFile(c commandline.Command, w commandline.Word) (file string, known bool) {
	base := c.Dir
	if strings.HasPrefix(w.Text, ".") {
		base = c.Folder()
	}
	switch {
	case !w.Known || w.Text == "" || commandline.IsWindowsPath(w.Text):
		return "", false
	case path.IsAbs(w.Text):
		file = path.Clean(w.Text)
	case base != "" && !c.IsWindows:
		file = path.Join(base, w.Text)
	}
	return file, file != "" && commandline.Printable(file) && !p.secrets.In(file)
}

// view finds or adds the view of a target folder.
func (p *plan) view(target string, known bool) *view {
	for _, v := range p.views {
		if v.target == target {
			return v
		}
	}
	v := &view{target: target, known: known, maps: map[*entry]string{}, mapped: map[*entry]bool{}}
	p.views = append(p.views, v)
	return v
}

// arrange names the views and decides what they export. All entries have names by now.
func (p *plan) arrange() {
	for i, v := range p.views {
		v.name = p.viewName(v)
		switch other := p.exported(p.views[:i], v.target); {
		case !v.known && v.target != "":
			v.notes = append(v.notes, "the updater's folder is a Windows path: add export with a folder of this host, or read data_dir/current/"+v.name)
		case !v.known:
			v.notes = append(v.notes, "the folder that your software reads is not known on this host: add export, or read data_dir/current/"+v.name)
		case v.target == "/" || overlap(v.target, dataDir) || isBeside(dataDir, v.target):
			v.notes = append(v.notes, quoted(v.target)+" cannot be an export, because data_dir is inside it or it is inside data_dir: read data_dir/current/"+v.name)
		case exports.IsSystemFolder(v.target):
			v.notes = append(v.notes, quoted(v.target)+" is a folder of the operating system and cannot be an export: give your software another folder, or let it read data_dir/current/"+v.name)
		case other != nil:
			v.notes = append(v.notes, quoted(v.target)+" overlaps the export of "+other.name+": give your software another folder, or let it read data_dir/current/"+v.name)
		default:
			v.export = v.target
		}
		if len(v.mapped) == 0 {
			continue
		}
		for _, e := range v.members {
			if !v.mapped[e] {
				v.notes = append(v.notes, e.name+" has no map: the updater puts its files at the top of the folder, this layout below "+e.name+"/")
			}
		}
	}
}

// viewName is the last part of the target, or another name that is free.
func (p *plan) viewName(v *view) string {
	base := "refdata"
	if v.known && v.target != "/" {
		base = plainName(path.Base(v.target))
	}
	if free := p.freeName(base); free == base {
		return base
	}
	return p.freeName(base + "_view")
}

func (p *plan) exported(views []*view, target string) *view {
	for _, v := range views {
		if v.export != "" && (overlap(v.export, target) || isBeside(v.export, target) || isBeside(target, v.export)) {
			return v
		}
	}
	return nil
}

// isBeside is true for a path in a folder that an export makes beside its own.
func isBeside(path, export string) bool {
	return slices.ContainsFunc(exports.Beside(export), func(reserved string) bool { return overlap(path, reserved) })
}

// overlap is true when one of two clean paths is the other, or inside it.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// layout returns the layout of a view.
func (v *view) layout() string {
	switch {
	case len(v.maps) > 0:
		return "map"
	case len(v.mapped) > 0:
		return "provider"
	}
	return "flat"
}
