//go:build linux

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"golang.org/x/sync/errgroup"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// A provider that hangs must not hold the doctor up: so long it waits for all lists.
const listPatience, listsAtOnce = time.Minute, 4

var errNoList = fmt.Errorf("the service did not answer within %s", listPatience)

// checkLicence asks for the files of each manifest. The answer tells whether the Customer
// ID is licensed for it, and whether there is such a manifest.
func (p *provider) checkLicence(ctx context.Context) []Finding {
	lists, failed := p.askLists(ctx)
	var found []Finding
	unlicensed := 0
	for i, l := range lists {
		name := l.manifest.Name
		var refused *transport.Error
		switch {
		case failed[i] != nil:
			if errors.As(failed[i], &refused) && refused.Kind == transport.Licence {
				unlicensed++
			}
			found = append(found, p.explainManifest(l.manifest, failed[i]))
		case len(l.files) == 0:
			found = append(found, failure("compare its filters with `syncd files "+name+"`", "manifest %s: no file passes its filters", name))
		default:
			p.lists = append(p.lists, l)
		}
	}
	if n := len(lists); n > 1 && unlicensed == n {
		found[0].Text = "the provider rejects the Customer ID for every manifest; " + found[0].Text
		found = found[:1]
	}
	if p.isFollower() {
		return orGood(found, "the bucket has %s", english.Plural(len(lists), "configured manifest", ""))
	}
	return orGood(found, "the Customer ID is licensed for %s", english.Plural(len(lists), "manifest", ""))
}

// askLists asks for the lists of all manifests.
func (p *provider) askLists(ctx context.Context) ([]list, []error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listPatience, errNoList)
	defer cancel()
	lists, failed := make([]list, len(p.cfg.Manifests)), make([]error, len(p.cfg.Manifests))
	var group errgroup.Group
	group.SetLimit(listsAtOnce)
	for i, m := range p.cfg.Manifests {
		group.Go(func() error {
			lists[i], failed[i] = p.askList(ctx, m)
			return nil
		})
	}
	_ = group.Wait() // no function fails
	return lists, failed
}

func (p *provider) askList(ctx context.Context, m config.Manifest) (list, error) {
	l := list{manifest: m}
	files, err := p.source.Files(ctx, m.Name, m.Release)
	if err != nil {
		return l, err
	}
	for ref := range files {
		if m.Filter.Passes(ref) {
			l.files = append(l.files, ref)
		}
	}
	return l, nil
}

func (p *provider) explainManifest(m config.Manifest, err error) Finding {
	if p.isFollower() {
		return p.explainRecord(m, err)
	}
	if failed, ok := errors.AsType[*transport.Error](err); ok {
		switch {
		case failed.Kind == transport.Licence:
			return failure("check the Customer ID, and ask the provider about its licence", "manifest %s: status %d %s", m.Name, failed.Status, failed.Type)
		case failed.Kind == transport.NotFound && failed.Type == "":
			return failure("check the path in "+p.sourceKey()+", then compare with `syncd manifests`", "manifest %s: %s answers with 404, and not as the provider does", m.Name, p.cfg.Source.URL.Host)
		case failed.Kind == transport.NotFound:
			return failure("compare with `syncd manifests`, and `syncd releases "+m.Name+"`", "manifest %s: the provider does not have it for release %s", m.Name, m.Release)
		}
	}
	return failure("try `syncd files "+m.Name+"`; if it fails the same way, tell the provider", "manifest %s: %v", m.Name, err)
}

// explainRecord explains why a bucket gives no list of a manifest.
func (p *provider) explainRecord(m config.Manifest, err error) Finding {
	var failed *transport.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == transport.NotFound:
		return failure("run `syncd publish` on the publisher, which writes what is missing", "manifest %s: the bucket lacks a text that it names: %v", m.Name, err)
	case failed != nil && failed.Status > 0:
		return p.storage.explainStore(p.bucket(), failed.Type, failed.Status, err)
	case failed != nil, refusal.ReasonOf(err) != "":
		return failure("try `syncd files "+m.Name+"`; if it fails the same way, "+p.askFor(), "manifest %s: %v", m.Name, err)
	}
	text, _, _ := strings.Cut(err.Error(), "; ")
	return failure("compare with `syncd manifests`, or let the publisher mirror it", "manifest %s: %s", m.Name, text)
}

// A small part of a file shows whether downloads work, and how fast.
const (
	probeSize     = 1 << 20
	probeTime     = 5 * time.Second
	measurable    = 128 << 10
	askedForProbe = 20
	tooShort      = 20 * time.Millisecond
)

// checkDownload reads the beginning of a large file.
func (p *provider) checkDownload(ctx context.Context) []Finding {
	if len(p.lists) == 0 {
		return []Finding{skipped("not checked, because no manifest can be listed")}
	}
	l := p.lists[0]
	l.ask(ctx, p.source.Provider, askedForProbe)
	ctx, cancel := context.WithTimeout(ctx, netPatience+probeTime)
	defer cancel()
	ref := l.largest()
	expected, err := p.source.Provider.Hash(ctx, p.cfg.Source.Hash, ref)
	if err != nil {
		return []Finding{failure("try `syncd get '"+ref.String()+"'`; if it fails the same way, "+p.askFor(), "the digest of %s cannot be had: %v", ref, err)}
	}
	begin := time.Now()
	answer, err := p.source.Provider.Download(ctx, manifest.File{Reference: ref, Expected: expected}, http.Header{"Range": {fmt.Sprintf("bytes=0-%d", probeSize-1)}}, true)
	if err != nil {
		return []Finding{p.explainDownload(ref, err)}
	}
	defer answer.Body.Close()
	latency := time.Since(begin)
	n, took, err := p.receive(answer.Body)
	if err != nil && n == 0 {
		return []Finding{failure("try `syncd get '"+ref.String()+"'`; if it fails the same way, "+p.askFor(), "downloading %s fails: %v", ref, err)}
	}
	rate := float64(n) / max(took, time.Millisecond).Seconds()
	return []Finding{p.judgeRate(n, rate, latency, took)}
}

func (p *provider) explainDownload(ref manifest.Reference, err error) Finding {
	var failed *transport.Error
	next := "let this machine connect to the host that downloads are redirected to, too"
	switch {
	case errors.As(err, &failed) && p.isFollower() && failed.Kind == transport.NotFound:
		next = "run `syncd publish` on the publisher, which uploads what is missing"
	case failed != nil && p.isFollower() && failed.Status > 0:
		return p.storage.explainStore(p.bucket(), failed.Type, failed.Status, err)
	case failed != nil && failed.Status > 0:
		next = "try `syncd get '" + ref.String() + "'`; if it fails the same way, " + p.askFor()
	case p.isFollower():
		next = "check the way to the S3 service"
	}
	return failure(next, "downloading %s fails: %v", ref, err)
}

// receive reads a body for a while.
func (p *provider) receive(body io.Reader) (n int64, took time.Duration, err error) {
	begin := time.Now()
	buffer := make([]byte, 32<<10)
	for err == nil && n < probeSize && time.Since(begin) < probeTime {
		var m int
		m, err = body.Read(buffer)
		n += int64(m)
	}
	return n, time.Since(begin), err
}

func (p *provider) judgeRate(n int64, rate float64, latency, took time.Duration) Finding {
	shown := humanize.IBytes(uint64(rate)) + "/s"
	if took < tooShort {
		shown = "too fast to measure"
	}
	slow := took >= probeTime
	switch least := p.cfg.Source.MinRate.Rate; {
	case slow && least > 0 && rate < float64(least):
		return failure("check the line; on a slow one, lower `"+p.sourceAt+".min_rate`", "downloads are too slow: %s, less than %s.min_rate allows (%s/s)", shown, p.sourceAt, humanize.IBytes(uint64(least)))
	case slow && n < measurable:
		return hint("check the line, and the bandwidth that the service allows", "downloads are slow: %s", shown)
	case n < measurable:
		return good("the first byte comes after %s; the file is too small to measure the rate", latency.Round(time.Millisecond))
	}
	return good("the first byte comes after %s, then %s", latency.Round(time.Millisecond), shown)
}
