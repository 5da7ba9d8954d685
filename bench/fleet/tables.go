package main

import (
	"fmt"
	"strings"
	"time"

	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

// fleets are the numbers of hosts that are simulated.
var fleets = []int{10, 200, 10_000}

func (r run) table(result ran) string {
	about := fmt.Sprintf("One upstream and %d followers as processes on two cores, over https: a release of %d files of %d MiB, all of them new, until the last follower serves it.",
		r.followers, r.files, r.size/provider.MiB)
	return table.Figures(about, []table.Figure{
		table.Row("bytes of files that the provider sent, relative to one release", result.provider, "%.3f", 1.001),
		table.Row("bytes that the upstream sent, relative to what all followers took", result.origin, "%.3f", 1.01),
		table.Row("CPU of the upstream for followers, ns for each byte", 1e9*result.ServeCPU, "%.2f", 0),
		table.Row("CPU of a follower, ns for each byte: download, prove, write, publish", 1e9*result.ProveCPU, "%.2f", 0),
		table.Row("time, relative to the CPU time of upstream and followers on two cores", result.seconds/r.cpuSeconds(result), "%.2f", 0),
	})
}

// cpuSeconds is how long two cores need for what the upstream and the followers do.
func (r run) cpuSeconds(result ran) float64 {
	bytes := float64(int64(r.files*r.followers) * r.size)
	return bytes * (result.ServeCPU + result.ProveCPU) / 2
}

// simulation is the table of all layouts and fleets.
func simulation(in inputs) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Time from the provider's release of %.0f GB to the last host; in brackets the releases sent by the provider and by our own source.\n\n| layout", in.Release/gigabyte)
	for _, hosts := range fleets {
		fmt.Fprintf(&b, " | %d hosts", hosts)
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---", len(fleets)) + "|\n")
	for _, l := range layouts() {
		b.WriteString("| " + l.name)
		for _, hosts := range fleets {
			o := l.simulate(in, hosts)
			took := time.Duration(o.seconds * float64(time.Second)).Round(time.Minute)
			fmt.Fprintf(&b, " | %s (%.0f, %.0f)", short(took), o.provider/in.Release, o.origin/in.Release)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// short writes a time in hours and minutes.
func short(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	if hours == 0 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", hours, minutes)
}
