package objectstore

import "time"

// clocks are the server's, by its last answer, and this host's. One of them may be wrong, or
// jump: another one than the server's may write the times of objects.
func (s *Server) clocks() (server, own time.Time) {
	own = time.Now()
	if seconds := s.time.Load(); seconds != 0 {
		return time.Unix(seconds, 0), own
	}
	return own, own
}

// LeastAge is how old an object is by both clocks, so that one which is ahead deletes nothing
// too early. An object without a time has no age.
func (s *Server) LeastAge(written time.Time) time.Duration {
	server, own := s.clocks()
	if written.Unix() <= 0 {
		return 0
	}
	return min(server.Sub(written), own.Sub(written))
}

// MostAge is how old an object is by one of the clocks, so that one which is behind trusts
// nothing that another publisher could delete.
func (s *Server) MostAge(written time.Time) time.Duration {
	server, own := s.clocks()
	return max(server.Sub(written), own.Sub(written))
}
