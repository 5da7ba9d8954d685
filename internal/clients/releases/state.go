package releases

import (
	"context"

	"syncd/internal/clients/transport"
)

// Talk is what a follower and an upstream that is a syncd say to each other about a
// manifest, beside the answers. The provider takes no part in it.
type Talk struct {
	State []string             // header lines that tell how this host is doing
	Heard func(destroy string) // gets what the upstream wants destroyed, from each answer; nil for nobody
}

type talkKey struct{}

// WithTalk returns a context whose requests for lists take part in a talk.
func WithTalk(ctx context.Context, t Talk) context.Context {
	return context.WithValue(ctx, talkKey{}, t)
}

// TalkIn returns the talk of a context.
func TalkIn(ctx context.Context) Talk {
	t, _ := ctx.Value(talkKey{}).(Talk)
	return t
}

func (t Talk) hear(res *transport.Response) {
	if t.Heard != nil && res.IsUpstream {
		t.Heard(res.Destroy)
	}
}
