package main

// mutants are faults in what the program promises. Keep them few: each must be a fault that
// a user would suffer from.
var mutants = []mutant{
	// The order of a publish.
	{"a generation's files are not synced", `(if err := )\w+(\.\w+)*\.SyncFiles\(\w+\.root, files\)`, "${1}error(nil)", "mirror e2e/crash", "Publish|Fault|Fsync|Durable|PowerCut|Step|Order"},
	{"a renamed name is not synced", `(if err := )d\.SyncDir\(dir, filepath\.Dir\(newName\)\)`, "${1}error(nil)", "durable mirror", ""},
	{"a replaced file is not synced", `return withFile\(dir, temp, SyncFile\)`, "return nil", "durable store mirror e2e/crash", "Replace|PowerCut|Durable|Fsync|Disk"},
	{"current is replaced in two steps", `return d\.replace\(dir, name, d\.Rename, func\(temp string\) error \{ return dir\.Symlink\(target, temp\) \}\)`, "_ = dir.RemoveAll(name)\n\treturn dir.Symlink(target, name)", "durable mirror", ""},
	{"an unsynced swap is forgotten", `(\w+\.unsyncedSwap = )err != nil`, "${1}false && err != nil", "mirror", "Swap|Unsynced"},
	{"a swap whose fsync failed is not seen", `if err == nil \|\| readErr == nil && number == next\.Number \{`, "if _, _ = number, readErr; err == nil {", "mirror", "Swap|Unsynced|Fsync|Fail"},
	{"a file whose fsync failed stays", `for _, name := range names \{ // a second fsync`, "for _, name := range names[:0] { // a second fsync", "mirror", ""},
	{"a leftover generation stays", `if err := \w+(\.\w+)*\.RemoveTree\(final\); err != nil \{`, "if err := error(nil); err != nil {", "mirror", ""},
	{"a large file is not synced", `(isDurable = \w+\.size\(\) >= minDurable; )isDurable`, "${1}false", "fetcher e2e/crash", "Durable|PowerCuts"},

	// Guards.
	{"min_keep_ratio is ignored", `float64\(([\w.]+)\) < ([\w.]+)\.MinKeepRatio`, "float64($1) < 0*$2.MinKeepRatio", "syncer|source syncer", "Refus|Shrink|Keep|Guard"},
	{"min_bytes_ratio is ignored", `(float64\(\w+\) >= )((?:\w+\.MinBytesRatio|ratio)\*float64)`, "${1}0*${2}", "syncer", "Refus|Shrink|Size|Bytes|Guard"},
	{"an emptied file is accepted", `(isEmpty := )f\.Expected\.IsOfNothing\(\)`, "${1}false", "syncer", "Refus|Shr"},
	{"max_rows_gone is ignored", `if loss\.Share\(\) > r\.MaxGone \{`, "if false {", "syncer", "LostRows"},
	{"rows count once", `(case slot\.count != 0:\n\t\tslot\.count) \+= side`, "${1} = side", "changes", "Rows"},
	{"an empty list is accepted", `if ([\w.]+) == 0 \{(\n\t\treturn (?:\w+, )?refusal\.New\(refusal\.Empty)`, "if $1 < 0 {$2", "syncer", "Refus|Empty"},
	{"a downgrade is accepted", `(== manifest\.Latest (?:&& j\.served )?&& )(\w+\.\w+\.Release\.Newer\()`, "${1}false && ${2}", "syncer", "Refus|Downgrade|Older"},
	{"clashing paths are accepted", `if err := \w+\.CheckPaths\(\); err != nil`, "if err := error(nil); err != nil", "syncer", "Refus|Clash|Hostile"},
	{"dot dot is a name", `case s == "\." \|\| s == "\.\.":`, `case s == ".":`, "manifest releases", ""},
	{"a backslash is part of a name", "strings\\.ContainsAny\\(s, `/\\\\`\\)", "strings.ContainsAny(s, `/`)", "manifest releases", ""},
	{"a body has no limit", `if int64\(n\) > b\.left \{`, "if false {", "transport releases", "Limit|Large|Body|Bodies"},
	{"a list has no limit", `if l\.seen\+\+; l\.seen > l\.entries \{`, "if l.seen++; false {", "releases", "Limit|Large|Many|Entries|Cost"},
	{"a file has no limit", `(g\.Told >= 0 && )done > 2`, "${1}false && done > 2", "syncer", "TooLarge|Refus|FarBeyond"},

	{"what rotted goes live by a rollback", `(case len\(unproven\) > 0)(:\n\t\treturn p, &unprovenError)`, "${1} && false${2}", "syncer", "Rotten"},
	{"what rotted goes live by a pin", `(return q\.GoesBack )(&& !q\.served\[id\])`, "${1}&& false ${2}", "syncer", "Rotten"},

	{"expired data goes live", `(if r\.ID\(\) == served\.ID\(\) \|\| )!t\.Present\(\)\.IsPast\(day\)`, "${1}true || !t.Present().IsPast(day)", "syncer", "Expired"},
	{"a wrong clock withdraws", `(return !end\.IsZero\(\) )&& isProven &&`, "${1}&&", "expiry syncer", "Past|WrongClock"},

	{"a swap loses its probe", `tried, err := trials\{a\}\.begin\(\)`, "tried, err := map[string]string{}, error(nil)", "engine", "BreaksTheConsumer"},

	// Buckets.
	{"a new generation names a lost object", `(s\.generation == generation) && time\.Since\(s\.at\) < recheck`, "${1} && recheck > 0", "publisher", "Lost"},
	{"an ended epoch is followed", `cmp\.Compare\(g\.Epoch, saved\.Epoch\), (cmp\.Compare\(g\.Number)`, "${1}", "syncer|source syncer", "Epoch"},

	// Redaction.
	{"errors keep the ID", `(public error = &publicError\{text: clip\()r\.String\((err\.Error\(\))\)`, "${1}${2}", "transport releases", "ID|Redact|Error"},
	{"the service's words keep the ID", `return Printable\(redact\.String\(p\.Type\)\), Printable\(redact\.String\(joined\)\)`, "return Printable(p.Type), Printable(joined)", "transport", "ID|Redact|Problem|Error"},
	{"headers keep the ID", `(values\[i\] = )r\.String\(value\)`, "${1}value", "transport", "ID|Redact|Header"},
	{"percent of all bytes is no spelling", "eachByte\\(\"%%%02x\"\\), eachByte\\(\"%%%02X\"\\), ", "", "transport", "Redact|Spelling|ID"},
	{"base64 is no spelling", `secrets = append\(secrets, newSecret\(form, base64Spellings\)\)`, "_ = form", "transport", "Redact|Spelling|ID"},
	{"a redirect takes the ID along", `c\.stripID\(target\)\n`, "_ = target\n", "transport", "Redirect|ID"},
	{"a request has a Referer", `header\.Set\("Range", requested\.String\(\)\)`, "header.Set(\"Range\", requested.String())\n\t\theader.Set(\"Referer\", \"http://provider.example/?id=x\")", "fetcher sync", "Fetch|Resume|CustomerID|Interrupted"},

	// Resumed downloads and batches.
	{"another validator is the same content", `case !v\.matches\(res\.Header\):`, "case false:", "fetcher", ""},
	{"another range is the right one", `case got\.start != want\.from, isRest`, "case isRest", "fetcher", ""},
	{"bytes behind the end stay", `if end := p\.layout\.end\(\); end < info\.Size\(\)`, "if end := p.layout.end(); end < 0 && end < info.Size()", "fetcher", ""},
	{"the hash starts anew", `io\.NewSectionReader\(p\.file, 0, p\.layout\.prefix\(\)\)`, "io.NewSectionReader(p.file, 0, 0)", "fetcher", ""},
	{"a weak ETag is a condition", `strings\.HasPrefix\(condition, "W/"\) \|\| condition == ""`, `condition == ""`, "fetcher", ""},
	{"a resumed request has no condition", `header\.Set\("If-Range", condition\)`, "_ = condition", "fetcher", ""},
	{"a planted link is continued", `(!info\.IsRegular\(\) \|\| )info\.Links\(\) != 1`, "${1}false", "fetcher", ""},
	{"a useless file is kept", `if !isTooLarge && !p\.file\.hasFailed\.Load\(\) \{`, "if true || !isTooLarge {", "fetcher", ""},
	{"a batch asks for answered rows again", `if r\.journal\.has\(number\) \{`, "if r.journal.has(number) && false {", "batch", ""},
	{"a submission in flight is sent again", `(Writes && )r\.journal\.wasAsked\(number\)`, "${1}false", "batch", ""},
	{"old gaps count as present", `(p\.hasGaps = )p\.validator\.Present != nil`, "${1}false && p.validator.Present != nil", "fetcher", ""},
}
