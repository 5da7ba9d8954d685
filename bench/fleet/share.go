package main

// share returns when each client has all bytes of a release, if they begin to download
// at these times (in seconds, ascending) from one server. The server's rate, in bytes per
// second, is shared evenly by the clients that download. None gets more than own.
func share(starts []float64, bytes, rate, own float64) (ends []float64) {
	// All clients that download at a moment get the same. So one sum tells how much a
	// client has that was there from the beginning, and the first to begin ends first.
	var now, given float64
	ends = make([]float64, len(starts))
	needs := make([]float64, len(starts)) // the sum at which the client is done
	first, next := 0, 0                   // clients first to next-1 download
	for first < len(starts) {
		if first == next {
			now = max(now, starts[next])
			needs[next] = given + bytes
			next++
			continue
		}
		each := min(own, rate/float64(next-first))
		done := now + (needs[first]-given)/each
		if next < len(starts) && starts[next] < done {
			given += each * max(0, starts[next]-now)
			now = max(now, starts[next])
			needs[next] = given + bytes
			next++
			continue
		}
		given, now = needs[first], done
		ends[first] = done
		first++
	}
	return ends
}

// polls returns when hosts ask for the first time after a moment, if each asks once in an
// interval and their jitter spreads them evenly over it.
func polls(after float64, hosts int, interval float64) []float64 {
	times := make([]float64, hosts)
	for i := range times {
		times[i] = after + (float64(i)+0.5)*interval/float64(hosts)
	}
	return times
}
