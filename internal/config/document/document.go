package document

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"syncd/internal/disk/fsops"
)

// Limits of a file. They keep the work of the YAML library, which recurses without
// bound and needs quadratic time for many keys, below a second.
const (
	maxTokens = 30_000
	MaxFile   = 1 << 20
)

// ReadFile reads the configuration file, and describes it.
func ReadFile(path string) ([]byte, fs.FileInfo, error) {
	data, info, err := fsops.ReadRegular(path, MaxFile)
	if err != nil && !errors.Is(err, fsops.ErrTooLarge) { // checkText refuses a file that is too large
		return nil, nil, unreadable(path, err)
	}
	return data, info, nil
}

// example is where packages install configs/syncd.yaml.
const example = "/usr/share/doc/syncd/examples/configs/syncd.yaml"

func unreadable(path string, err error) *Error {
	cause := systemError(err)
	next := "name the file with --config or $SYNCD_CONFIG"
	switch {
	case errors.Is(cause, fs.ErrNotExist):
		next += ", write one as in " + example + ", or make one with `syncd setup` or `syncd config from-updater`; `syncd demo` needs none"
	case errors.Is(cause, fs.ErrPermission):
		next = "run this as root, or let this user read it"
	}
	return &Error{File: path, Problem: "cannot be read: " + cause.Error(), Suggestion: next, Cause: cause}
}

// Parse parses a file that holds one YAML document, a mapping. A panic of
// the YAML library, which open reports describe for broken files, must not end a
// daemon that reads its configuration again.
func Parse(file string, data []byte) (*Node, error) {
	root, problem := parse(data)
	if problem != nil {
		return nil, Place{at: problem.at}.Error(file, problem.Problem, problem.Suggestion)
	}
	return root, nil
}

func parse(data []byte) (root *Node, problem *located) {
	defer func() {
		if recover() != nil {
			root, problem = nil, &located{syntaxFault(""), Position{}}
		}
	}()
	text, problem := checkText(data)
	if problem != nil {
		return nil, problem
	}
	tokens := lexer.Tokenize(text)
	if problem := checkTokens(tokens); problem != nil {
		return nil, problem
	}
	body, problem := parseTokens(tokens)
	if problem != nil {
		return nil, problem
	}
	root = build(body)
	switch {
	case root.Null:
		return nil, &located{Fault{"holds no configuration", "write at least source.url and one manifest"}, Position{}}
	case root.Kind != MappingKind:
		return nil, &located{Fault{"is not a mapping at its top level", `begin with a key, such as "source:"`}, root.At}
	}
	return root, nil
}

// checkText refuses files that are not text. It ends every line in LF, because the YAML
// library reports wrong positions after CR LF.
func checkText(data []byte) (string, *located) {
	if len(data) > MaxFile {
		return "", &located{Fault{"is larger than 1 MiB", "check which file it is"}, Position{}}
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	at := Position{1, 1}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "", &located{Fault{"is not UTF-8 text", "save the file as UTF-8"}, at}
		case r == '\n':
			at = Position{at.line + 1, 0}
		case r != '\t' && unicode.IsControl(r):
			return "", &located{Fault{"has a control character", "remove it"}, at}
		}
		at.column++
		i += size
	}
	return string(data), nil
}

// unsupported names the parts of YAML that a configuration must not use.
var unsupported = map[token.Type]string{
	token.AnchorType:     "an anchor (&)",
	token.AliasType:      "an alias (*)",
	token.MergeKeyType:   "a merge key (<<)",
	token.TagType:        "a tag (!)",
	token.DirectiveType:  "a directive (%)",
	token.MappingKeyType: "an explicit key (?)",
}

// checkTokens refuses tokens that no configuration needs, too many of them, and a
// second document, which the library's parser can pass over in silence.
func checkTokens(tokens token.Tokens) *located {
	started, ended := false, false
	for i, t := range tokens {
		switch {
		case i == maxTokens:
			return &located{Fault{"has too many values", "check which file it is"}, where(t)}
		case unsupported[t.Type] != "":
			return &located{Fault{"holds " + unsupported[t.Type] + ", which is not supported", "write the value itself, in quotes if it begins with that sign"}, where(t)}
		case t.Type == token.CommentType:
			continue
		case ended, started && t.Type == token.DocumentHeaderType:
			return &located{Fault{"holds more than one YAML document", "keep one document and remove the others with their --- or ... lines"}, where(t)}
		}
		started, ended = true, t.Type == token.DocumentEndType
	}
	return nil
}

// parseTokens runs the library's parser. Errors of the library quote the file, so only
// their position is reported, with a suggestion that fits their message.
func parseTokens(tokens token.Tokens) (ast.Node, *located) {
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var quoting interface {
			GetToken() *token.Token
			GetMessage() string
		}
		if errors.As(err, &quoting) {
			return nil, &located{syntaxFault(quoting.GetMessage()), where(quoting.GetToken())}
		}
		return nil, &located{syntaxFault(""), Position{}}
	}
	if len(file.Docs) == 0 {
		return nil, nil
	}
	return file.Docs[0].Body, nil
}

// syntaxFault returns a suggestion for a common mistake, which it recognises by words in
// the library's message.
func syntaxFault(message string) Fault {
	for _, known := range []struct{ words, suggestion string }{
		{"tab character", "indent with spaces, not tabs"},
		{"'\t'", "indent with spaces, not tabs"},
		{"quoted text", "end the quoted text with the quote that it began with"},
		{"reserved character", "write the value in quotes"},
		{"mapping value is not allowed", `write a value that holds ": " in quotes, and begin each key on its own line`},
		{"not found", "close each [ and {"},
		{"must be specified", "check commas and closing brackets"},
	} {
		if strings.Contains(message, known.words) {
			return Fault{"is not valid YAML", known.suggestion}
		}
	}
	return Fault{"is not valid YAML", "check indentation, colons and quotes there and in the line before"}
}
