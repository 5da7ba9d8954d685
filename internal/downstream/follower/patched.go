package follower

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
)

// openPatched answers a download with a content that is made here, of an old one and a patch.
// It is nil if the content must come whole: there is no patch, none works, the last content had
// another digest, or the download began with other bytes.
func (c *Client) openPatched(ctx context.Context, id manifest.ObjectID, header http.Header, isBulk bool) (*transport.Response, error) {
	if header.Get("Cache-Control") != "" {
		c.patches.dropAll(id)
		return nil, nil
	}
	for {
		u, found := c.patches.begin(id)
		if !found {
			return nil, nil
		}
		part, fits := partOf(header, u.after)
		if !fits {
			u.close()
			return nil, nil
		}
		inner, cancel := context.WithCancel(ctx)
		m := &making{client: c, use: u, part: part, cancel: cancel, isBulk: isBulk, done: make(chan struct{})}
		err := m.open(inner)
		if err == nil {
			return m.response(inner), nil
		}
		m.end()
		var cooling *transport.CoolingDown
		if context.Cause(ctx) != nil || errors.As(err, &cooling) {
			return nil, err
		}
		if c.patches.broke(id, u.source.old, err); transport.IsTransient(err) {
			return nil, err
		}
	}
}

// part is what is asked for of a content, without its end.
type part struct {
	from, to int64
	isRange  bool
}

// partOf reads what a download asks for. It does not fit if the download began with the bytes
// of another answer, whose ETag is not that of a content that is made here.
func partOf(header http.Header, of patch.Identity) (p part, fits bool) {
	text, isRange := strings.CutPrefix(header.Get("Range"), "bytes=")
	if !isRange {
		return part{to: of.Size}, header.Get("Range") == ""
	}
	from, to, _ := strings.Cut(text, "-")
	p = part{to: of.Size, isRange: true}
	var err error
	if p.from, err = strconv.ParseInt(from, 10, 64); err == nil && to != "" {
		p.to, err = strconv.ParseInt(to, 10, 64)
		p.to++
	}
	return p, err == nil && 0 <= p.from && p.from < p.to && p.to <= of.Size && header.Get("If-Range") == etagOf(of.Digest)
}

func etagOf(id manifest.ObjectID) string { return `"` + id.String() + `"` }

// making is a content that is made while its patch arrives. It is the body of an answer.
type making struct {
	*io.PipeReader
	client *Client
	use    *use
	part   part
	isBulk bool
	cancel context.CancelFunc
	res    *transport.Response // with the patch
	begin  *patch.Patch
	first  int // the segment that the part begins in

	received atomic.Int64  // bytes of the patch, since they were asked for last
	done     chan struct{} // closed at the end
}

// open opens the patch where the first segment of the part begins.
func (m *making) open(ctx context.Context) (err error) {
	if m.begin = m.use.begin; m.begin == nil && m.part.from > 0 {
		if err := m.readBegin(ctx); err != nil {
			return err
		}
	}
	if m.begin != nil {
		m.first = m.begin.Complete(m.part.from)
		return m.request(ctx, m.begin.Offset(m.first), m.use.size)
	}
	if err = m.request(ctx, 0, m.use.size); err == nil {
		err = m.parseBegin()
	}
	return err
}

// readBegin reads the header and the table alone.
func (m *making) readBegin(ctx context.Context) error {
	if err := m.request(ctx, 0, min(patch.MaxBegin(m.use.after.Size), m.use.size)); err != nil {
		return err
	}
	defer m.res.Body.Close()
	return m.parseBegin()
}

func (m *making) parseBegin() (err error) {
	if m.begin, err = patch.Open(m.res.Body, m.use.before, m.use.after); err != nil {
		return err
	}
	if m.begin.Size() != m.use.size {
		return fmt.Errorf("%w: it has %d bytes, its list says %d", patch.ErrInvalid, m.begin.Size(), m.use.size)
	}
	m.client.patches.learned(m.use.after.Digest, m.use.source.old, m.begin)
	return nil
}

// request asks for bytes of the patch, and puts the reader at the first one.
func (m *making) request(ctx context.Context, from, to int64) error {
	header := http.Header{"Accept-Encoding": {"identity"}}
	isPart := from > 0 || to < m.use.size
	if isPart {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	}
	req := m.client.request("Patch", bucket.PatchName(m.use.source.old, m.use.after.Digest), header)
	req.Bulk = m.isBulk
	res, err := m.client.t.Open(ctx, req)
	if err != nil {
		return err
	}
	pace := transport.Pace{Least: m.client.patches.least, Endpoint: "Patch"}
	res.Body = &patchBody{ReadCloser: res.Body, left: to, received: &m.received, pace: pace}
	m.res = res
	switch {
	case res.Status == http.StatusOK:
		_, err = io.CopyN(io.Discard, res.Body, from)
	case res.Status == http.StatusPartialContent && isPart && strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", from)):
		res.Body.(*patchBody).left = to - from
	default:
		err = fmt.Errorf("%w: status %d with the range %.64q", patch.ErrInvalid, res.Status, res.Header.Get("Content-Range"))
	}
	if err != nil {
		res.Body.Close()
		m.res = nil
	}
	return err
}

// patchBody counts the bytes of a patch, and ends where the patch must end. It keeps the pace
// itself: nobody behind it sees a segment before it is whole, which takes for ever if it drips.
type patchBody struct {
	io.ReadCloser
	left     int64
	received *atomic.Int64
	pace     transport.Pace
}

func (b *patchBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	asked := time.Now()
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.received.Add(int64(n))
	if slow := b.pace.Add(n, time.Since(asked)); err == nil {
		err = slow
	}
	return n, err
}

// response begins to make the content.
func (m *making) response(ctx context.Context) *transport.Response {
	var to *io.PipeWriter
	m.PipeReader, to = io.Pipe()
	go m.run(ctx, to)
	res := &transport.Response{
		Status: http.StatusOK, Header: http.Header{"Etag": {etagOf(m.use.after.Digest)}}, Length: m.part.to - m.part.from,
		Body: m, Received: func() int64 { return m.received.Swap(0) },
	}
	if m.part.isRange {
		res.Status = http.StatusPartialContent
		res.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", m.part.from, m.part.to-1, m.use.after.Size))
	}
	return res
}

func (m *making) run(ctx context.Context, to *io.PipeWriter) {
	defer close(m.done)
	begin := int64(m.first) * m.begin.SegmentSize
	cut := &cutter{to: to, skip: m.part.from - begin, left: m.part.to - m.part.from}
	written, err := m.begin.Apply(ctx, uncached{m.use.old}, m.res.Body, m.first, cut)
	if written > 0 {
		m.client.patches.moved(m.use.after.Digest, m.use.source.old)
	}
	to.CloseWithError(m.explain(ctx, err))
}

// explain returns the error of the body. Whatever is wrong with a patch, another request goes
// on with another one, or with the whole content.
func (m *making) explain(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, errEnough):
		return nil
	case ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe): // nobody reads it any more
		return context.Canceled
	}
	m.client.patches.broke(m.use.after.Digest, m.use.source.old, err)
	if failed, ok := errors.AsType[*transport.Error](err); ok {
		return failed
	}
	return &transport.Error{Kind: transport.Transient, Endpoint: "Patch", Path: "/" + bucket.PatchName(m.use.source.old, m.use.after.Digest), Err: err}
}

// Close ends the making.
func (m *making) Close() error {
	m.cancel()
	m.PipeReader.Close()
	<-m.done
	m.end()
	return nil
}

// end frees what the making holds.
func (m *making) end() {
	m.cancel()
	if m.res != nil {
		m.res.Body.Close()
	}
	m.use.close()
}

// errEnough ends the making when the part is whole.
var errEnough = errors.New("the part is whole")

// cutter passes a part of what is written on.
type cutter struct {
	to         io.Writer
	skip, left int64
}

func (c *cutter) Write(b []byte) (int, error) {
	skipped := min(c.skip, int64(len(b)))
	c.skip -= skipped
	rest := b[skipped:]
	isLast := int64(len(rest)) >= c.left
	n, err := c.to.Write(rest[:min(int64(len(rest)), c.left)])
	c.left -= int64(n)
	if err == nil && isLast {
		err = errEnough
	}
	return int(skipped) + n, err
}
