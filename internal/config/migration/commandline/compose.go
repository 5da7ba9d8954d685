package commandline

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"syncd/internal/config/document"
)

// compose reads the services of a compose file whose command starts the updater.
func (r *reader) compose(t *source, s *scope) {
	root, err := document.Parse("", []byte(t.content))
	if err != nil {
		r.skip(s.at(1), t.content)
		r.note(s.at(1), "and what follows cannot be read as a compose file: give the resolved one, `docker compose config > resolved.yml`")
		return
	}
	own := s.inner()
	own.dir = path.Dir(t.path)
	if data, err := r.readFile(path.Join(own.dir, ".env")); err == nil {
		shellReader{r}.script(data, own)
	}
	for _, service := range field(root, "services").Fields {
		if service.Value.Kind == document.MappingKind {
			r.group(func() { r.composeService(service, own.inner()) })
		}
	}
}

// field returns the value of a key, an empty one if it is missing.
func field(n *document.Node, key string) *document.Node {
	for _, f := range n.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return &document.Node{Null: true}
}

func (r *reader) composeService(service document.Field, s *scope) {
	n, folder := service.Value, s.dir
	command := field(n, "command")
	s.line = command.At.Line()
	if s.line == 0 {
		s.line = service.At.Line()
	}
	s.remarks = append(s.remarks, "a compose file has no schedule: add schedule, or leave the default of once an hour")
	files := field(n, "env_file")
	for _, file := range append(files.Items, files) {
		if file.Text != "" {
			r.variables(file.Text, s.at(file.At.Line()), s)
		}
	}
	r.composeVariables(field(n, "environment"), s)
	words := append(s.composeWords(field(n, "entrypoint")), s.composeWords(command)...)
	if len(words) == 0 || Verbs[words[0].Text] != "" {
		words = append([]Word{{service.Key, true}}, words...) // the image starts the updater
	}
	s.mounts = []mount{}
	for _, volume := range field(n, "volumes").Items {
		s.addMount(volume, folder)
	}
	s.mounts = sortMounts(s.mounts)
	s.dir = field(n, "working_dir").Text
	shellReader{r}.command(words, s.line, s)
}

// composeVariables sets the variables of a service. One without a value comes from the
// shell that starts it.
func (r *reader) composeVariables(n *document.Node, s *scope) {
	set := func(name, text string, given bool) {
		w := append(s.shellWords(quoteShell(text)), Word{})[0]
		r.set(s, name, w.Text, given && w.Known)
	}
	for _, f := range n.Fields {
		set(f.Key, f.Value.Text, !f.Value.Null)
	}
	for _, item := range n.Items {
		name, value, given := strings.Cut(item.Text, "=")
		set(name, value, given)
	}
}

// quoteShell makes one word of a text in which variables are still replaced.
func quoteShell(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(text) + `"`
}

// composeWords are those of a command: a list, or one text as for a shell.
func (s *scope) composeWords(n *document.Node) []Word {
	if n.Kind != document.ListKind {
		return s.shellWords(n.Text)
	}
	var words []Word
	for _, item := range n.Items {
		words = append(words, append(s.shellWords(quoteShell(item.Text)), Word{})[0])
	}
	return words
}

// shellWords splits a text as a shell does.
func (s *scope) shellWords(text string) []Word {
	file, err := syntax.NewParser().Parse(strings.NewReader("x "+strings.ReplaceAll(text, "$$", `\$`)), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	call, isCall := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Args) < 2 {
		return nil
	}
	return s.expand(call.Args[1:])
}

// addMount adds a volume in its short or long form.
func (s *scope) addMount(n *document.Node, folder string) {
	if n.Kind == document.MappingKind {
		s.mounts = append(s.mounts, mount{path.Clean(field(n, "target").Text), onHost(field(n, "source").Text, folder)})
		return
	}
	words := s.shellWords(quoteShell(n.Text))
	if len(words) != 1 || !words[0].Known {
		return
	}
	outside, rest, _ := strings.Cut(words[0].Text, ":")
	if m, ok := volume(outside + ":" + rest); ok {
		m.outside = onHost(outside, folder)
		s.mounts = append(s.mounts, m)
	}
}

// onHost is the path of a folder that a compose file names; "" for a named volume.
func onHost(text, folder string) string {
	switch {
	case path.IsAbs(text):
		return path.Clean(text)
	case strings.HasPrefix(text, ".") && path.IsAbs(folder):
		return path.Join(folder, text)
	}
	return ""
}
