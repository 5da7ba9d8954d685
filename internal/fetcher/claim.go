package fetcher

// claim is the range that one connection fetches: the bytes from next up to end.
// Another connection may take the rear over, even if it was requested already.
type claim struct {
	next, end int64
	requested byteRange // by the last request
}

func (c *claim) left() int64 { return c.end - c.next }
