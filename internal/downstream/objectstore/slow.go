package objectstore

import (
	"context"
	"io"
	"net/http"

	"syncd/internal/host/rate"
)

// Rate is how many bytes a second may be sent now; 0 for no limit.
func (p Place) Rate() int64 {
	if p.Bandwidth == nil {
		return 0
	}
	return p.Bandwidth.Rate()
}

// slowed returns a request whose body is sent no faster than the bandwidth allows.
func slowed(r *http.Request, bandwidth *rate.Budget) *http.Request {
	if bandwidth == nil || r.Body == nil || r.Body == http.NoBody {
		return r
	}
	slow := r.Clone(r.Context())
	slow.Body = &slowBody{r.Body, r.Context(), bandwidth}
	slow.GetBody = nil // it would begin again without the limit
	return slow
}

// slowBody is the body of a request.
type slowBody struct {
	io.ReadCloser
	ctx       context.Context
	bandwidth *rate.Budget
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.bandwidth.Most())])
	if waited := b.bandwidth.Wait(b.ctx, n); waited != nil {
		return n, waited
	}
	return n, err
}
