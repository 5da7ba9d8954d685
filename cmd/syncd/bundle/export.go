package bundle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bundle"
	"syncd/internal/downstream/keyfile"
	"syncd/internal/downstream/relay"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// leastVolume is the smallest volume that the command makes.
const leastVolume = 1 << 20

// Exported is what an export made, as JSON prints it.
type Exported struct {
	ID         manifest.ObjectID `json:"id"`
	Generation int               `json:"generation"`
	Manifests  []string          `json:"manifests"`
	Contents   int               `json:"contents"`
	Patches    int               `json:"patches"` // contents that come as patches, from others or compressed
	Bytes      int64             `json:"bytes"`   // of all files
	Files      []string          `json:"files"`
}

// export is one export.
type export struct {
	app    *cli.App
	target string
	names  []string // empty for all
	since  string
	volume string
	isCut  bool // into volumes
	limit  int64
}

func exportCommand(a *cli.App) *cobra.Command {
	e := export{app: a}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "export DIR|FILE|- [MANIFEST...]", Short: "Write what is served into a bundle", Args: cli.Arguments(1, -1),
		Long: `Write what is served of the named manifests, or of all, into a tar. In a folder, it gets a
name with the publisher and the generation, the manifests if these are not all, and a
receipt's digest; '-' is standard output.

A content of 64 KiB or more that compresses to less than 60 % comes compressed.

--volume cuts it into FILE.001, FILE.002 and so on, each smaller than the size, which can
be copied one by one.
--since leaves out the contents that a host has already, and has patches in the place of those
that it has an earlier form of: 'syncd bundle receipt' makes the list there.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e.target, e.names = args[0], args[1:]
			done, err := e.run(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON && e.target != "-" {
				return a.PrintJSON(done)
			}
			to := io.Writer(a.Stdout)
			if e.target == "-" {
				to = a.Stderr
			}
			fmt.Fprintf(to, "generation %d: %s, %d contents, %d of them as patches, %s in %s\n", done.Generation, strings.Join(done.Manifests, ", "), done.Contents, done.Patches, humanize.IBytes(uint64(done.Bytes)), named(done.Files))
			return nil
		},
	}
	cmd.Flags().StringVar(&e.since, "since", "", "leave out what this `receipt` of the far side names")
	cmd.Flags().StringVar(&e.volume, "volume", "", "cut the bundle into files below this `SIZE`, such as 4GiB for FAT32")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// named names the files of a bundle on one line.
func named(files []string) string {
	if len(files) < 3 {
		return strings.Join(files, " ")
	}
	return files[0] + " to " + files[len(files)-1]
}

func (e *export) run(ctx context.Context) (Exported, error) {
	if err := e.checkFlags(); err != nil {
		return Exported{}, err
	}
	cfg, err := e.app.LoadAndWarn()
	if err != nil {
		return Exported{}, err
	}
	since, err := e.receipt()
	if err != nil {
		return Exported{}, err
	}
	for try := 1; ; try++ {
		done, err := e.once(ctx, cfg, since)
		if !errors.Is(err, errStale) || try == 3 {
			if chain, unread := keyfile.Chain(cfg.Sign.TrustFile); err == nil && unread == nil && chain.Newest().Threshold > 1 {
				fmt.Fprintf(e.app.Stderr, "warning: signed by this host's key alone: hosts with the trust file ask for %d keys and refuse the bundle; export it on a host that follows the bucket\n", chain.Newest().Threshold)
			}
			return done, err
		}
	}
}

// errStale says that something else went live while the export began.
var errStale = errors.New("what is served changed meanwhile: export again")

func (e *export) checkFlags() error {
	if e.isCut = e.volume != ""; !e.isCut {
		return nil
	}
	size, err := humanize.ParseBytes(e.volume)
	switch {
	case err != nil || size > 1<<60:
		return cli.Usagef("--volume: %q is no size: use a form such as 4GiB", e.volume)
	case size < leastVolume:
		return cli.Usagef("--volume: %s is too small: use at least 1MiB", e.volume)
	case e.target == "-":
		return cli.Usagef("--volume makes several files: name a file instead of -")
	}
	e.limit = int64(size) - 1 // FAT32 has no file of 4 GiB
	return nil
}

// receipt reads the receipt of the far side.
func (e *export) receipt() (r bundle.Receipt, err error) {
	if e.since == "" {
		return r, nil
	}
	text, _, err := fsops.ReadRegular(e.since, bundle.MaxReceipt)
	if err != nil {
		return r, err
	}
	if r, err = bundle.ParseReceipt(text); err != nil {
		return r, cli.Usagef("--since %s: %w", e.since, err)
	}
	return r, nil
}

// once plans and writes a bundle of what is live now.
func (e *export) once(ctx context.Context, cfg *config.Config, since bundle.Receipt) (Exported, error) {
	texts, err := cli.Do(ctx, e.app, cfg, operation.Bundle, request.Bundle{}, false)
	if err != nil {
		return Exported{}, err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return Exported{}, err
	}
	defer m.Close() //nolint:errcheck // it was only read
	shorter, err := newShorter(m, since, besides(e.target))
	if err != nil {
		return Exported{}, err
	}
	defer shorter.close()
	c := &composing{mirror: m, since: since, shorter: shorter}
	members, err := c.members(ctx, texts, e.names)
	if err != nil {
		return Exported{}, err
	}
	plan, err := bundle.NewPlan(members, bundle.Layout{Generation: c.generation.Number, Limit: e.limit, Since: since.ID})
	if err != nil {
		return Exported{}, err
	}
	done := Exported{ID: plan.ID(), Generation: c.generation.Number, Manifests: c.names, Contents: c.contents, Patches: len(shorter.made), Bytes: plan.Bytes()}
	done.Files, err = e.write(ctx, plan, e.fileName(c))
	return done, err
}

// write writes the files of a bundle, each as a whole or not at all.
func (e *export) write(ctx context.Context, plan *bundle.Plan, file string) (names []string, err error) {
	if e.target == "-" {
		return []string{"-"}, plan.Write(ctx, func(_ int, write func(io.Writer) error) error { return write(e.app.Stdout.Plain()) })
	}
	if e.isCut {
		if err := checkVolumes(file, plan); err != nil {
			return nil, err
		}
	}
	sweep(file)
	return names, plan.Write(ctx, func(volume int, write func(io.Writer) error) error {
		name := file
		if e.isCut {
			name = bundle.VolumeName(file, volume)
		}
		names = append(names, name)
		return cli.ReplaceFile(name, 0o644, write)
	})
}

// longestPart bounds the names of manifests in the name of a file.
const longestPart = 64

// fileName is where the bundle goes. In a folder, bundles with other contents have other names,
// so that one of some manifests, or for one host, never takes the place of the one for all.
func (e *export) fileName(c *composing) string {
	if info, err := os.Stat(e.target); err != nil || !info.IsDir() {
		return e.target
	}
	name := fmt.Sprintf("syncd-%s-%d", plainName(c.generation.Publisher), c.generation.Number)
	if len(e.names) > 0 && len(c.names) < len(c.generation.Manifests) {
		part := plainName(strings.Join(c.names, "+"))
		if len(part) > longestPart {
			part = fmt.Sprintf("%d-manifests-%x", len(c.names), sha256.Sum256([]byte(part)))[:longestPart/2]
		}
		name += "-" + part
	}
	if e.since != "" {
		name += "-since-" + c.since.ID.String()[:8]
	}
	return filepath.Join(e.target, name+".tar")
}

// plainName is a host's name as part of a file's.
func plainName(host string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("/\\: ", r) {
			return '-'
		}
		return r
	}, cmp.Or(host, "host"))
}

// checkVolumes refuses to mix volumes of two bundles under one name. Those of an export of the
// same that ended early are written again.
func checkVolumes(file string, plan *bundle.Plan) error {
	found, err := filepath.Glob(globbed(file) + ".[0-9][0-9][0-9]*")
	if err != nil {
		return err
	}
	for _, name := range found {
		if v, err := bundle.Look(name); err != nil || v.ID != plan.ID() {
			return cli.Usagef("%s is there already, and no volume of this bundle: name another file, or remove it with the other volumes", name)
		}
	}
	return nil
}

// globbed is a name without special meaning in a pattern.
func globbed(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(name)
}

// sweep removes what an export to the same name left when it was killed. What cannot be removed
// is in no way.
func sweep(file string) {
	found, err := filepath.Glob(filepath.Join(globbed(filepath.Dir(file)), ".tmp-"+globbed(filepath.Base(file))+"*"))
	if err != nil {
		return
	}
	for _, name := range found {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			_ = os.Remove(name)
		}
	}
}

// composing makes the members of a bundle from a data directory.
type composing struct {
	mirror     *mirror.Mirror
	since      bundle.Receipt
	shorter    *shorter
	generation bucket.Generation

	names    []string
	records  []recordText
	contents int
}

// members are the texts and contents of the named manifests, in their order.
func (c *composing) members(ctx context.Context, texts report.BundleTexts, names []string) ([]bundle.Member, error) {
	current, err := bucket.ParseCurrent(texts.Current)
	if err == nil {
		c.generation, err = bucket.ParseGeneration(current.Generation, texts.Generation)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, found := c.generation.Manifest(name); !found {
			return nil, cli.Usagef("%s is not served as a manifest: a bundle can have %s", name, c.listed())
		}
	}
	members := []bundle.Member{textOf(bucket.CurrentName, texts.Current), textOf(bucket.GenerationName(current.Generation), texts.Generation)}
	for i, text := range texts.Trust {
		members = append(members, textOf(bucket.TrustName(i+1), text))
	}
	contents, err := c.contentsOf(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, r := range c.records {
		members = append(members, bundle.Member{Name: r.entry.Record(), Size: r.Size, SHA256: r.Sum, Open: func() (io.ReadCloser, error) { return c.open(r.entry) }})
	}
	for _, r := range c.records {
		if list, found := c.shorter.list(r.entry, r.Record); found {
			members = append(members, list)
		}
	}
	if len(c.names) == 0 {
		return nil, errors.New("no manifest is served: run `syncd sync`")
	}
	if c.contents = len(contents); c.contents > bundle.MaxContents {
		return nil, fmt.Errorf("%d contents are too many for a bundle: the most are %d; name fewer manifests", c.contents, bundle.MaxContents)
	}
	return slices.Concat(members, contents), nil
}

// contentsOf reads the records of the named manifests, or of all, and returns their contents.
func (c *composing) contentsOf(ctx context.Context, names []string) (contents []bundle.Member, err error) {
	seen := map[manifest.ObjectID]bool{}
	for _, m := range c.generation.Manifests {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		text, err := c.record(m)
		if errors.Is(err, errStale) && len(names) == 0 && c.mirror.Records.RevisionCount(m.Name) == 0 {
			continue // signed by the upstream, and not mirrored here
		}
		if err != nil {
			return nil, err
		}
		text.entry = m
		c.names, c.records = append(c.names, m.Name), append(c.records, text)
		had := c.shorter.earlier(text.Record)
		for _, f := range text.Files {
			if seen[f.Object] || c.since.Has(f.Object) || c.lacks(text, f.Object) {
				continue
			}
			seen[f.Object] = true
			member, err := c.contentOf(ctx, f, had[f.Path])
			if err != nil {
				return nil, err
			}
			contents = append(contents, member)
		}
	}
	return contents, nil
}

func (c *composing) listed() string {
	var names []string
	for _, m := range c.generation.Manifests {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

func textOf(name string, text []byte) bundle.Member {
	return bundle.Member{Name: name, Size: int64(len(text)), SHA256: sha256.Sum256(text), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(text))), nil
	}}
}

// recordText is the text of a record, as this host writes it or as its upstream gave it.
type recordText struct {
	bucket.RecordText
	entry   bucket.Manifest // that names it
	isGiven bool
}

// record is the record of a manifest as its generation names it.
func (c *composing) record(m bucket.Manifest) (recordText, error) {
	if given, err := relay.Record(c.mirror.Root(), m.RecordSHA256); err == nil {
		defer given.Close()
		info, err := given.Stat()
		if err != nil {
			return recordText{}, err
		}
		read, err := bucket.ReadRecord(m, given)
		return recordText{RecordText: bucket.RecordText{Record: read, Size: info.Size(), Sum: m.RecordSHA256}, isGiven: true}, err
	}
	read, err := c.mirror.Records.Revision(m.Name, string(m.Release)+"-"+m.Revision)
	if errors.Is(err, fs.ErrNotExist) {
		return recordText{}, errStale
	}
	if err != nil {
		return recordText{}, err
	}
	text, err := bucket.TextOf(read)
	if err == nil && text.Sum != m.RecordSHA256 {
		err = errStale
	}
	return recordText{RecordText: text}, err
}

// lacks is true for a content of the upstream's record that filters of this host leave out.
func (c *composing) lacks(text recordText, id manifest.ObjectID) bool {
	if !text.isGiven {
		return false
	}
	f, err := c.mirror.Objects.Open(id)
	if err == nil {
		err = f.Close()
	}
	return errors.Is(err, fs.ErrNotExist)
}

// open reads the text of a record while it is written.
func (c *composing) open(m bucket.Manifest) (io.ReadCloser, error) {
	text, err := c.record(m)
	if err != nil {
		return nil, err
	}
	if text.isGiven {
		return relay.Record(c.mirror.Root(), m.RecordSHA256)
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(bucket.WriteRecord(to, text.Record)) }() // ends when the reader closes
	return from, nil
}

// contentOf is the member for a content, whose path had other contents before.
func (c *composing) contentOf(ctx context.Context, f, before record.File) (bundle.Member, error) {
	member, isShort, err := c.shorter.shorten(ctx, f, before)
	if isShort || err != nil {
		return member, err
	}
	return bundle.Member{Name: bucket.ObjectName(f.Object), Size: f.Size, SHA256: f.Object, Open: func() (io.ReadCloser, error) { return c.content(f.Object) }}, nil
}

func (c *composing) content(id manifest.ObjectID) (io.ReadCloser, error) {
	f, err := c.mirror.Objects.Open(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w, or the object is lost: %w", errStale, err)
	}
	return f, err
}
