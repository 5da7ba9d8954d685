package releases

import "context"

type stateKey struct{}

// WithState returns a context whose requests for lists tell an upstream that is a syncd
// how this host is doing. The provider does not get it.
func WithState(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, stateKey{}, header)
}

func stateIn(ctx context.Context) string {
	header, _ := ctx.Value(stateKey{}).(string)
	return header
}
