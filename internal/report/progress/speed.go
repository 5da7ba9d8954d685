package progress

import "time"

// A speed is the mean over speedWindow, from samples at least speedStep apart.
const speedWindow, speedStep = 20 * time.Second, time.Second

// speed measures how fast bytes arrive. It takes a sample only when the speed is
// read, so an unobserved sync has no cost.
type speed struct{ samples []sample }

type sample struct {
	at    time.Time
	bytes int64
}

// perSecond returns the speed; bytes is how many have arrived in all by now.
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
