package releases

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"syncd/internal/manifest/refusal"
)

var errNotXMLList = refusal.New(refusal.BadShape, "got neither a list nor XML with a list: is it a proxy's HTML page?")

// readXML reads the elements directly below the root. It refuses elements with
// different names (an error object), text between them, and HTML pages.
func (l *listReader) readXML() error {
	x := &xmlList{decoder: xml.NewDecoder(l.src), list: l}
	for {
		token, err := x.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errNotXMLList
		}
		if err := x.take(token); err != nil {
			return err
		}
		l.src.used = x.decoder.InputOffset()
	}
}

type xmlList struct {
	decoder *xml.Decoder
	list    *listReader
	inRoot  bool
	name    string // of the items
}

// take handles a token outside of the items. A list needs no DTD.
func (x *xmlList) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.Directive:
		return errNotXMLList
	case xml.CharData:
		if len(bytes.TrimSpace(t)) > 0 {
			return errNotXMLList
		}
	case xml.EndElement:
		x.inRoot = false
	case xml.StartElement:
		if strings.EqualFold(t.Name.Local, "html") || x.name != "" && x.inRoot && t.Name.Local != x.name {
			return errNotXMLList
		}
		if !x.inRoot {
			x.inRoot = true
			return x.list.skip()
		}
		x.name = t.Name.Local
		return x.item(t)
	}
	return x.list.skip()
}

// item reads one item, whose start was read.
func (x *xmlList) item(start xml.StartElement) error {
	if !x.list.objects {
		text, err := x.text()
		if err != nil {
			return errNotXMLList
		}
		return x.list.visit(ListedManifest{Name: text})
	}
	var object struct {
		ListedManifest
		Text string `xml:",chardata"`
	}
	if x.decoder.DecodeElement(&object, &start) != nil {
		return errNotXMLList
	}
	object.Name = cmp.Or(object.Name, strings.TrimSpace(object.Text))
	return x.list.visit(object.ListedManifest)
}

// text returns the text of an element that has no others in it.
func (x *xmlList) text() (string, error) {
	var text strings.Builder
	for {
		token, err := x.decoder.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			return strings.TrimSpace(text.String()), nil
		case xml.StartElement, xml.Directive:
			return "", errNotXMLList
		}
	}
}
