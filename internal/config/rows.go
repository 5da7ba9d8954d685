package config

import (
	"strconv"

	"syncd/internal/changes"
	"syncd/internal/config/document"
	"syncd/internal/config/value"
)

// The most that a rule may name.
const (
	maxFixedColumns = 10_000
	maxFixedWidth   = 1 << 20
	maxKeyColumns   = 32
)

// rows is the setter of a manifest's `rows`: how to read the rows of its files.
func rows(to *[]changes.Rule) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		if n.Null {
			return
		}
		if n.Kind != document.ListKind {
			d.Fail(path, "must be a list", `write each kind of file as an entry such as {glob: "*.csv", key: [1]}`)
			return
		}
		*to = make([]changes.Rule, len(n.Items))
		for i, item := range n.Items {
			at := document.Index(path, i)
			d.SetPosition(at, item.At)
			if item.Kind != document.MappingKind {
				d.Fail(at, "must be a mapping", `write {glob: "*.csv", key: [1], delimiter: ",", header: true}`)
				continue
			}
			rowsRule(d, &(*to)[i], at, item)
		}
	}
}

func rowsRule(d *document.Decoder, r *changes.Rule, path string, n *document.Node) {
	d.Mapping(path, n, document.Table{
		"glob":      document.Scalar(&r.Glob, value.Glob),
		"key":       document.List(&r.Key, parseColumn),
		"delimiter": document.Scalar(&r.Delimiter, parseDelimiter),
		"header":    document.Scalar(&r.Header, parseHeader),
		"fixed":     document.List(&r.Fixed, value.Integer(1, maxFixedWidth)),
	})
	if !d.IsSet(path + ".glob") {
		d.Fail(path+".glob", "is missing", `write which files it is about, such as "*.csv"`)
	}
	if len(r.Fixed) > 0 && r.Delimiter != "" {
		d.Fail(path+".fixed", "delimiter is set too", "set one of the two")
	}
	if len(r.Key) > maxKeyColumns {
		d.Fail(path+".key", "has more than 32 columns", "name the columns that identify a row")
	}
	if len(r.Fixed) > maxFixedColumns {
		d.Fail(path+".fixed", "has more than 10000 columns", "leave out the last ones: what follows is one column")
	}
}

// parseColumn accepts a number from 1 on, or a name of the header or of a member.
func parseColumn(text string) (string, *document.Fault) {
	n, err := strconv.Atoi(text)
	if text == "" || err == nil && n < 1 {
		return "", document.Refuse("is no column", "write its number from 1 on, or its name in the header")
	}
	return text, nil
}

func parseDelimiter(text string) (string, *document.Fault) {
	if text == "tab" {
		text = "\t"
	}
	if len(text) != 1 || text[0] >= 0x80 || text == `"` || text == "\n" || text == "\r" || text == "\x00" {
		return "", document.Refuse("is no delimiter", `write one character such as ",", "|" or ";", or tab`)
	}
	return text, nil
}

func parseHeader(text string) (*bool, *document.Fault) {
	header, fault := value.Bool(text)
	return &header, fault
}
