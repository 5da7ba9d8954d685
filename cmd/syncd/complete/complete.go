package complete

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"syncd/cmd/syncd/cli"
	"syncd/internal/report"
)

// values is what can stand in one place of a command.
type values struct {
	from source
	kind cobra.ShellCompDirective // of files or folders, without a source
}

var (
	nothing = values{kind: cobra.ShellCompDirectiveNoFileComp}
	file    = values{kind: cobra.ShellCompDirectiveDefault}
	folder  = values{kind: cobra.ShellCompDirectiveFilterDirs}
)

func of(from source) values { return values{from, cobra.ShellCompDirectiveNoFileComp} }

// arguments are the values of a command's arguments, one after the other. The last one is
// for all that follow, if they are many.
type arguments struct {
	each []values
	many bool
}

func one(each ...values) arguments { return arguments{each, false} }
func many(v values) arguments      { return arguments{[]values{v}, true} }

// argumentsOf are the arguments of commands, by their path below syncd. A command that is
// missing takes none.
var argumentsOf = map[string]arguments{
	"activate":            many(of(waiting)),
	"adopt":               one(folder),
	"changes":             one(of(manifests), of(revisionsOf), of(revisionsOf)),
	"config from-updater": many(file),
	"destroy":             {[]values{of(manifests), of(releasesOf)}, true},
	"estimate":            one(of(manifests)),
	"explain":             one(of(manifests)),
	"files":               one(of(manifests), of(releasesOf)),
	"fleet release":       one(of(allReleases)),
	"forget":              many(of(orphaned)),
	"get":                 many(of(references)),
	"hold":                many(of(configured)),
	"manifests":           one(of(allReleases)),
	"map":                 one(of(manifests)),
	"pin":                 one(of(configured), of(releasesOf)),
	"probe":               many(of(configured)),
	"releases":            one(of(manifests)),
	"rollback":            one(of(earlier)),
	"serve release":       one(of(allReleases)),
	"serve-id add":        one(nothing),
	"serve-id remove":     one(of(followers)),
	"served":              one(of(paths)),
	"skip":                one(of(configured), of(releasesOf)),
	"sync":                many(of(configured)),
	"bundle export":       {[]values{folder, of(manifests)}, true},
	"bundle import":       many(file),
	"bundle show":         many(file),
	"trust init":          many(nothing),
	"trust keygen":        one(nothing),
	"trust show":          one(file),
	"trust sign":          one(file),
	"trust verify":        one(file),
	"unpin":               one(of(pinned)),
	"verify":              many(of(manifests)),
}

// valuesOf are the values of flags, by the command's path and the flag. The values of a
// flag that is missing cannot be listed, such as times.
var valuesOf = map[string]values{
	"--config":                file,
	"adopt --manifest":        of(configured),
	"bundle export --since":   file,
	"bundle export --volume":  of(fixed("1GiB", "4GiB\tfits FAT32", "16GiB")),
	"bundle receipt --output": file,
	"call --batch":            file,
	"call --body":             file,
	"call --format":           of(fixed("json", "xml")),
	"call --out":              file,
	"demo --dir":              folder,
	"destroyed --manifest":    of(manifests),
	"deliveries --drop":       of(events),
	"deliveries --hook":       of(hooks),
	"deliveries --retry":      of(events),
	"emulator --root":         folder,
	"fleet --release":         of(allReleases),
	"fleet --ring":            of(rings),
	"fleet --state":           of(followerStates),
	"get --output":            folder,
	"hold --for":              of(fixed("12h", "1d", "7d", "0s\tends the hold")),
	"lock --output":           file,
	"rollback --manifest":     of(configured),
	"serve-id add --ring":     of(rings),
	"sync --locked":           file,
	"sync --take-over":        of(exports),
	"trust add --key":         file,
	"trust add --trust":       file,
	"trust init --output":     file,
	"trust keygen --output":   file,
	"trust remove --key":      file,
	"trust remove --trust":    file,
	"trust sign --key":        file,
	"trust verify --trust":    file,
	"verify --rate":           of(fixed("100MiB", "500MiB", "1GiB", "0\tno limit")),
}

// Add adds completions to root and all commands below it.
func Add(a *cli.App, root *cobra.Command) {
	mendFish(root)
	addBelow(a, root)
}

func addBelow(a *cli.App, root *cobra.Command) {
	path := strings.TrimSpace(strings.TrimPrefix(root.CommandPath(), "syncd"))
	if root.ValidArgsFunction == nil && len(root.ValidArgs) == 0 {
		root.ValidArgsFunction = argumentsOf[path].complete(a)
	}
	root.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, has := root.GetFlagCompletionFunc(f.Name); has || f.Value.Type() == "bool" {
			return
		}
		v, known := valuesOf[strings.TrimSpace(path+" --"+f.Name)]
		if !known {
			v = nothing
		}
		_ = root.RegisterFlagCompletionFunc(f.Name, v.complete(a)) // the flag exists
	})
	for _, cmd := range root.Commands() {
		addBelow(a, cmd)
	}
}

// complete offers the values of the argument that is typed.
func (s arguments) complete(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if s.many {
			at = min(at, len(s.each)-1)
		}
		if at >= len(s.each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.each[at].complete(a)(cmd, args, typed)
	}
}

// complete offers the values that begin with what is typed, apart from those that are
// arguments already.
func (v values) complete(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (offered []string, kind cobra.ShellCompDirective) {
		if v.from == nil {
			return nil, v.kind
		}
		l := newLook(cmd.Context(), a)
		if l == nil {
			return nil, v.kind
		}
		defer l.close()
		for _, value := range v.from(l, args) {
			name, about, isDescribed := strings.Cut(value, "\t")
			if strings.HasPrefix(name, typed) && !slices.Contains(args, name) && !strings.ContainsFunc(name, isSpecial) {
				if isDescribed {
					name += "\t" + report.VisibleLine(about)
				}
				offered = append(offered, name)
			}
		}
		return offered, v.kind | cobra.ShellCompDirectiveKeepOrder
	}
}

// isSpecial is true for a character that a shell may read as code. bash puts the common
// beginning of names on its line without quotes, and the scripts of cobra evaluate the line
// for the next completion: a provider's file could run a program.
func isSpecial(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._-+:/@,=%?~^", r)
}
