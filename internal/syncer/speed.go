package syncer

import "time"

// A speed is told over so long a time, from samples that lie so far apart.
const speedWindow, speedStep = 20 * time.Second, time.Second

// speed is how fast bytes arrived lately. It takes its samples when it is asked:
// nobody looking costs nothing.
type speed struct{ samples []sample }

type sample struct {
	at    time.Time
	bytes int64
}

// perSecond is the speed at a moment when so many bytes have arrived in all.
func (s *speed) perSecond(now time.Time, bytes int64) float64 {
	if n := len(s.samples); n == 0 || now.Sub(s.samples[n-1].at) >= speedStep {
		s.samples = append(s.samples, sample{now, bytes})
	}
	for len(s.samples) > 2 && now.Sub(s.samples[1].at) >= speedWindow {
		s.samples = s.samples[1:]
	}
	first := s.samples[0]
	seconds := now.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(bytes-first.bytes) / seconds
}
