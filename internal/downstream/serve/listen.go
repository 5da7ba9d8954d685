//go:build linux

package serve

import (
	"context"
	"net"
	"syscall"

	"syncd/internal/httpserver"
)

// Limits on connections. A follower has at most 512, and a cache stands for many of them.
const (
	maxConnections = 4096
	minConnections = 64
	addressShare   = 4   // an address may have one of so many parts of the connections
	othersFiles    = 768 // descriptors for the status page, the provider's connections and the mirror
)

// Serve answers followers on listener until ctx ends; then it returns nil.
func Serve(ctx context.Context, listener net.Listener, s *Service, o httpserver.Options) error {
	most := connectionLimit()
	o.Limits = httpserver.Limits{
		Connections: most, PerAddress: max(most/addressShare, minConnections), Requests: most,
		LongAnswers: true,
		AnyHost:     s.cfg.IDs != nil, // a web page does not know an id
	}
	return httpserver.Serve(ctx, listener, s, o)
}

// connectionLimit leaves descriptors to the syncs: each connection may need one for a file,
// too.
func connectionLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minConnections
	}
	return int(min(max((int64(min(limit.Cur, 1<<20))-othersFiles)/2, minConnections), maxConnections)) //nolint:gosec // at most 1<<20
}
