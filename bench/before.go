package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"syncd/bench/internal/contender"
	"syncd/bench/internal/provider"
)

// beforeName is the contender of an earlier binary.
const beforeName = "syncd before"

// beforeCases are the cases that a change of structure must leave as they are.
const beforeCases = "big,typical,many,ten-thousand,idle"

// compareWith runs cases with an earlier binary and the present one in turn, so that a
// change of the machine's speed affects both. names are separated by commas; "" means
// beforeCases.
func (b bench) compareWith(ctx context.Context, earlier, names string) error {
	earlier, err := filepath.Abs(earlier)
	if err != nil {
		return err
	}
	names = cmp.Or(names, beforeCases)
	known := races()
	known = append(known, race{
		name: "ten-thousand", what: "10,000 files of 4 KiB", sizes: provider.Repeat(10_000, 4*provider.KiB),
	})
	for name := range strings.SplitSeq(names, ",") {
		c := benchCase{name: name}
		i := slices.IndexFunc(known, func(r race) bool { return r.name == name })
		switch {
		case name == "idle":
			c.measure = func(ctx context.Context, b bench) (string, error) { return compareIdle(ctx, b, earlier) }
		case i >= 0:
			r := known[i].withBefore(earlier)
			c.measure, c.manyFiles = r.measure, len(r.sizes) >= manyFiles
		default:
			return fmt.Errorf("%q cannot be compared: choose races or idle", name)
		}
		if err := b.report(ctx, c, ""); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// withBefore returns the race between the present binary and an earlier one.
func (r race) withBefore(earlier string) race {
	r.contenders = func(b bench) []contender.Contender {
		return []contender.Contender{b.syncd(), contender.Syncd(beforeName, earlier, contender.Settings{})}
	}
	r.pairs = []pair{{of: "syncd", against: []string{beforeName}}}
	return r
}

// compareIdle measures the idle polls of both binaries in the same way, one after the other.
func compareIdle(ctx context.Context, b bench, earlier string) (string, error) {
	var out strings.Builder
	for _, tool := range []struct{ name, binary string }{{beforeName, earlier}, {"syncd", b.binary}} {
		b := b
		b.binary = tool.binary
		var err error
		if b.work, err = os.MkdirTemp(b.work, "idle-"); err != nil {
			return "", err
		}
		text, err := measureIdle(ctx, b)
		if err != nil {
			return "", fmt.Errorf("%s: %w", tool.name, err)
		}
		fmt.Fprintf(&out, "%s: %s\n", tool.name, text)
	}
	return out.String(), nil
}
