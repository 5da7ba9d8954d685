package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
	"syncd/internal/emulator"
)

// The releases of a run of regions. All later hosts see the second one by proof; hosts of the
// first region refuse the third.
const (
	firstRelease, goodRelease, badRelease = "2026.10", "2026.11", "2026.12"

	releaseFile = "release.txt" // has the name of its release
	probeName   = "probe"       // an id of the first ring that tells nothing
)

// regions is a run of a root, three regions and their followers, on this machine over plain HTTP.
type regions struct {
	binary, work string
	followers    int           // of each region; a fifth of them, at least one, are canaries
	files        int           // of a release
	size         int64         // of each
	rate         string        // of the root's link
	poll         time.Duration // of every host
	cut          time.Duration // of a region's link

	provider *provider.Emulated
	root     *node
	regions  map[string]*region
	monitor  *monitor
}

// region is a host that follows the root and serves others.
type region struct {
	*node
	cable     *cable
	canaries  []*node
	followers []*node // the others
}

// The regions in the order in which the root's rings show them a release: the first one is the
// canary of the others. The link of the last one is cut.
var names = []string{"west", "east", "south"}

// told is what a run of regions gave.
type told struct {
	seconds     float64            // from the release to the last host, without the time of the cut
	links       map[string]float64 // bytes to a region, relative to a release
	inside      float64            // bytes that regions sent, relative to what their followers took
	late        []float64          // polls until a stop reached the region, the root, and the other regions
	leaked      int                // hosts of the last ring that serve the stopped release
	scrapes     []float64          // until the queries told of the release, and of the stop; none without Prometheus
	plain       float64            // bytes that the root sent in the plain layout, relative to a release
	plainSecond float64            // seconds to the last host there
}

func (r *regions) run(ctx context.Context) (result told, err error) {
	defer func() { r.end() }()
	if err := r.start(ctx); err != nil {
		return result, err
	}
	log.Print("regions: all hosts serve the first release")
	if err := r.spread(ctx, &result); err != nil {
		return result, err
	}
	log.Print("regions: all hosts serve the second release")
	if err := r.stop(ctx, &result); err != nil {
		return result, err
	}
	r.end()
	return result, r.plainly(ctx, &result)
}

// daemonLines are the lines of every host.
func (r *regions) daemonLines() string {
	return fmt.Sprintf("schedule: \"@every %s\"\njitter: 0s\n", r.poll)
}

// release publishes a release whose files are all new.
func (r *regions) release(name string, first int) error {
	files := []emulator.File{{Name: releaseFile, Content: emulator.Text(name)}}
	for i := range r.files {
		f, err := r.provider.Content(first+i, r.size)
		if err != nil {
			return err
		}
		f.Name = provider.NameOf(i)
		files = append(files, f)
	}
	r.provider.SetManifest(provider.Manifest, name, files...)
	return nil
}

func (r *regions) bytes() float64 { return float64(int64(r.files) * r.size) }

// start starts all hosts with the first release.
func (r *regions) start(ctx context.Context) (err error) {
	if r.provider, err = provider.Emulate(ctx, r.work, nil); err != nil {
		return err
	}
	if err := r.release(firstRelease, 0); err != nil {
		return err
	}
	ids := map[string]string{"west": "canary", "east": "rest", "south": "rest"}
	rings := "serve:\n  bandwidth: " + r.rate + "\n  rings: [{name: canary}, {name: rest, stop_above: \"0%\", after: {hosts: 1}}]\n"
	if r.root, err = newNode(r.binary, filepath.Join(r.work, "root"), source{r.provider.URL(), provider.CustomerID}, ids, rings+r.daemonLines()); err != nil {
		return err
	}
	if err := r.root.start(ctx); err != nil {
		return err
	}
	r.regions = map[string]*region{}
	hosts := map[string]*node{"root": r.root}
	for _, name := range names {
		if r.regions[name], err = r.startRegion(ctx, name); err != nil {
			return err
		}
		hosts[name] = r.regions[name].node
	}
	if r.monitor, err = startPrometheus(ctx, r.work, r.poll, hosts); err != nil {
		return err
	}
	return until(ctx, "the first release on all hosts", func() bool { return r.serving(firstRelease) == len(names)*(r.followers+1) })
}

// startRegion starts a region and its followers. The canaries of the first one refuse the last
// release, and note when.
func (r *regions) startRegion(ctx context.Context, name string) (g *region, err error) {
	g = &region{}
	if g.cable, err = newCable(r.root.serve); err != nil {
		return nil, err
	}
	ids := map[string]string{probeName: "canary"}
	id := func(i int) string { return fmt.Sprintf("%s-%d", name, i) }
	canaries := max(r.followers/5, 1)
	for i := range r.followers {
		ids[id(i)] = "rest"
		if i < canaries {
			ids[id(i)] = "canary"
		}
	}
	// The id that tells nothing is one of the canaries.
	share := 100 * canaries / (canaries + 1)
	more := fmt.Sprintf("serve:\n  rings: [{name: canary}, {name: rest, delay: %s, stop_above: \"25%%\", after: {share: \"%d%%\"}}]\n", 8*r.poll, share) + r.daemonLines()
	g.node, err = newNode(r.binary, filepath.Join(r.work, name), upstreamOf(g.cable.listener.Addr().String(), name), ids, more)
	if err == nil {
		err = g.node.start(ctx)
	}
	for i := range r.followers {
		if err != nil {
			return g, err
		}
		more := r.daemonLines()
		dir := filepath.Join(r.work, id(i))
		if i < canaries && name == names[0] {
			more += fmt.Sprintf("gate: {command: [sh, -c, 'test \"$SYNCD_RELEASE\" != %s || { test -e %[2]s || touch %[2]s; false; }']}\n", badRelease, filepath.Join(dir, "refused"))
		}
		var f *node
		if f, err = newNode(r.binary, dir, upstreamOf(g.serve, id(i)), nil, more); err == nil {
			err = f.start(ctx)
		}
		if i < canaries {
			g.canaries = append(g.canaries, f)
		} else {
			g.followers = append(g.followers, f)
		}
	}
	return g, err
}

// end ends all hosts, and removes what they have.
func (r *regions) end() {
	r.monitor.end()
	r.monitor = nil
	for _, n := range r.hosts() {
		n.kill()
	}
	for _, g := range r.regions {
		g.cable.close()
	}
	if r.root != nil {
		r.root.kill()
	}
	if r.provider != nil {
		r.provider.Close()
	}
	r.regions, r.root, r.provider = nil, nil, nil
	_ = os.RemoveAll(r.work)
	_ = os.MkdirAll(r.work, 0o700)
}

// hosts are the regions and their followers.
func (r *regions) hosts() (all []*node) {
	for _, g := range r.regions {
		if g.node != nil {
			all = append(all, g.node)
		}
		all = slices.Concat(all, g.canaries, g.followers)
	}
	return slices.DeleteFunc(all, func(n *node) bool { return n == nil })
}

// serving counts the hosts that serve a release.
func (r *regions) serving(release string) (hosts int) {
	for _, n := range r.hosts() {
		if n.release() == release {
			hosts++
		}
	}
	return hosts
}

// half waits until half of a release has come over the cable of a region since a number of bytes.
func (r *regions) half(ctx context.Context, name string, since int64) error {
	g := r.regions[name]
	return until(ctx, "half of the release in "+name, func() bool {
		return float64(g.cable.bytes.Load()-since) > r.bytes()/2 || g.release() == goodRelease
	})
}

// spread has the second release reach all hosts. The root is killed while the first region
// downloads it, and again while the others do; the link of the last region is cut then.
func (r *regions) spread(ctx context.Context, result *told) error {
	before := map[string]int64{}
	for name, g := range r.regions {
		before[name] = g.cable.bytes.Load()
	}
	inside, err := r.sent(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.release(goodRelease, r.files); err != nil {
		return err
	}
	kill := func(at string) error {
		if err := r.half(ctx, at, before[at]); err != nil {
			return err
		}
		log.Printf("regions: the root is killed while %s downloads", at)
		r.root.kill()
		return r.root.start(ctx)
	}
	if err := kill(names[0]); err != nil {
		return err
	}
	last := r.regions[names[2]]
	if err := r.half(ctx, names[2], before[names[2]]); err != nil {
		return err
	}
	last.cable.cut(true)
	isCut := time.Now()
	if err := kill(names[1]); err != nil {
		return err
	}
	time.Sleep(time.Until(isCut.Add(r.cut)))
	last.cable.cut(false)
	all := len(names) * (r.followers + 1)
	if err := until(ctx, "the second release on all hosts", func() bool { return r.serving(goodRelease) == all }); err != nil {
		return err
	}
	result.seconds = (time.Since(began) - r.cut).Seconds()
	result.links = map[string]float64{}
	for name, g := range r.regions {
		result.links[name] = float64(g.cable.bytes.Load()-before[name]) / r.bytes()
	}
	after, err := r.sent(ctx)
	result.inside = (after - inside) / r.bytes() / float64(len(names)*r.followers)
	if err != nil {
		return err
	}
	// The regions know of their followers at the next poll, and Prometheus at a scrape.
	for _, g := range r.regions {
		if err := until(ctx, "the followers' word", func() bool { return r.inSync(ctx, g.node, goodRelease) == r.followers }); err != nil {
			return err
		}
	}
	return r.scraped(ctx, result, fmt.Sprintf(`sum(region_ring_release_state:syncd_fleet_hosts:sum{region!="root",release=%q,state="in_sync"})`, goodRelease), strconv.Itoa(len(names)*r.followers))
}

// inSync counts the followers that a region knows to serve a release.
func (r *regions) inSync(ctx context.Context, n *node, release string) (hosts int) {
	text, err := n.get(ctx, "/api/v1/fleet?limit=1")
	var fleet struct {
		Counts []struct {
			Release, State string
			Hosts          int
		}
	}
	if err != nil || json.Unmarshal(text, &fleet) != nil {
		return 0
	}
	for _, c := range fleet.Counts {
		if c.Release == release && c.State == "in_sync" {
			hosts += c.Hosts
		}
	}
	return hosts
}

// scraped counts the scrapes until a query has a value.
func (r *regions) scraped(ctx context.Context, result *told, query, want string) error {
	if r.monitor == nil {
		return nil
	}
	began := time.Now()
	err := until(ctx, query, func() bool { return r.monitor.value(ctx, query) == want })
	result.scrapes = append(result.scrapes, time.Since(began).Seconds()/r.poll.Seconds())
	return err
}

// sent is what the regions sent.
func (r *regions) sent(ctx context.Context) (total float64, err error) {
	for _, g := range r.regions {
		bytes, failed := sentBytes(ctx, g.web)
		total, err = total+bytes, errors.Join(err, failed)
	}
	return total, err
}

// stop publishes a release that the canaries of the first region refuse, and follows the stop.
func (r *regions) stop(ctx context.Context, result *told) error {
	if err := r.release(badRelease, 2*r.files); err != nil {
		return err
	}
	first, others := r.regions[names[0]], []*region{r.regions[names[1]], r.regions[names[2]]}
	steps := []struct {
		about  string
		isTrue func() bool
	}{
		{"refusals in " + names[0], func() bool { return r.refusals(first) > len(first.canaries)/3 }},
		{"the stop in " + names[0], func() bool { return first.stops(ctx, badRelease) }},
		{"the stop at the root", func() bool { return r.root.stops(ctx, badRelease) }},
		{"the stop in the other regions", func() bool {
			return !slices.ContainsFunc(others, func(g *region) bool { return g.shows(ctx, idOf(probeName), badRelease) })
		}},
	}
	var last time.Time
	for i, step := range steps {
		if err := until(ctx, step.about, step.isTrue); err != nil {
			return err
		}
		if log.Printf("regions: %s", step.about); i > 0 {
			result.late = append(result.late, time.Since(last).Seconds()/r.poll.Seconds())
		}
		last = time.Now()
	}
	// The root, its last ring, and the last ring of the first region.
	if err := r.scraped(ctx, result, `count(region_ring:syncd_fleet_stopped_releases:max{ring="rest"} > 0)`, "2"); err != nil {
		return err
	}
	time.Sleep(10 * r.poll) // the delay of the last ring is over
	for _, g := range r.regions {
		for _, n := range g.followers {
			if n.release() == badRelease {
				result.leaked++
			}
		}
	}
	return nil
}

// refusals counts the canaries of a region that refused the release.
func (r *regions) refusals(g *region) (hosts int) {
	for _, n := range g.canaries {
		if _, err := os.Stat(filepath.Join(n.dir, "refused")); err == nil {
			hosts++
		}
	}
	return hosts
}

// plainly has all followers follow the root, without regions.
func (r *regions) plainly(ctx context.Context, result *told) (err error) {
	if r.provider, err = provider.Emulate(ctx, r.work, nil); err != nil {
		return err
	}
	if err := r.release(firstRelease, 0); err != nil {
		return err
	}
	ids, hosts := map[string]string{}, len(names)*r.followers
	for i := range hosts {
		ids[fmt.Sprint("host-", i)] = "rest"
	}
	if r.root, err = newNode(r.binary, filepath.Join(r.work, "root"), source{r.provider.URL(), provider.CustomerID}, ids, "serve:\n  bandwidth: "+r.rate+"\n"+r.daemonLines()); err != nil {
		return err
	}
	if err := r.root.start(ctx); err != nil {
		return err
	}
	plain := &region{}
	r.regions = map[string]*region{"": plain}
	if plain.cable, err = newCable(r.root.serve); err != nil {
		return err
	}
	for i := range hosts {
		name := fmt.Sprint("host-", i)
		f, err := newNode(r.binary, filepath.Join(r.work, name), upstreamOf(plain.cable.listener.Addr().String(), name), nil, r.daemonLines())
		if err == nil {
			err = f.start(ctx)
		}
		plain.followers = append(plain.followers, f)
		if err != nil {
			return err
		}
	}
	if err := until(ctx, "the first release on all hosts", func() bool { return r.serving(firstRelease) == hosts }); err != nil {
		return err
	}
	before, began := plain.cable.bytes.Load(), time.Now()
	if err := r.release(goodRelease, r.files); err != nil {
		return err
	}
	err = until(ctx, "the second release on all hosts", func() bool { return r.serving(goodRelease) == hosts })
	result.plain, result.plainSecond = float64(plain.cable.bytes.Load()-before)/r.bytes(), time.Since(began).Seconds()
	return err
}

// table shows a run.
func (r *regions) table(result told) string {
	hosts := len(names) * r.followers
	about := fmt.Sprintf("A root, %d regions and %d followers as processes on one machine, over plain HTTP by `serve`: a release of %d files of %d MiB, all of them new. The root's link has %s/s, every host polls each %s. The root is killed twice, and the link of one region is cut for %s. Then the canaries of one region refuse a release.",
		len(names), hosts, r.files, r.size/provider.MiB, r.rate, r.poll, r.cut)
	var figures []table.Figure
	for _, name := range names {
		what := "bytes over the link to " + name + ", relative to one release"
		if name == names[2] {
			what += " (cut)"
		}
		figures = append(figures, table.Row(what, result.links[name], "%.3f", 1.05))
	}
	figures = append(figures,
		table.Row("bytes that the regions sent, relative to what their followers took", result.inside, "%.3f", 1.01),
		table.Row("bytes over the root's link without regions, relative to one release", result.plain, "%.1f", 0),
		table.Row("bytes over the root's link with regions, relative to without", (result.links[names[0]]+result.links[names[1]]+result.links[names[2]])/result.plain, "%.3f", 0),
		table.Row("seconds to the last host with regions, rings and kills, without the time of the cut", result.seconds, "%.0f", 0),
		table.Row("seconds to the last host without regions, rings and kills", result.plainSecond, "%.0f", 0),
	)
	for i, level := range []string{"in the region, after its hosts refused", "at the root, after that", "in the other regions, after that"} {
		figures = append(figures, table.Row("polls until the stop is "+level, result.late[i], "%.1f", 2))
	}
	figures = append(figures, table.Row("hosts of the last rings that serve the stopped release", float64(result.leaked), "%.0f", 0))
	for i, what := range []string{"release", "stop"} {
		if i < len(result.scrapes) {
			figures = append(figures, table.Row("scrapes until the queries of the dashboard tell of the "+what, result.scrapes[i], "%.1f", 2))
		}
	}
	return table.Figures(about, figures)
}
