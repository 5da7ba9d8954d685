package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"syncd/bench/internal/daemon"
	"syncd/bench/internal/link"
	"syncd/bench/internal/measure"
	"syncd/bench/internal/provider"
	"syncd/bench/internal/table"
)

const scrapesASecond = 1000

// measureScrapes measures how much frequent scrapes slow the first sync of a daemon. It
// alternates runs without and with scrapes, each in a fresh directory.
func measureScrapes(ctx context.Context, b bench) (string, error) {
	p, err := provider.Start(ctx, b.work, []int64{b.smaller(300 * provider.MiB), b.smaller(500 * provider.MiB)}, link.Link{})
	if err != nil {
		return "", err
	}
	defer p.Close()
	samples, answered := map[int][]measure.Sample{}, 0.0
	for round := range b.runs + 1 {
		for _, rate := range []int{0, scrapesASecond} {
			taken, scraped, err := b.syncBeside(ctx, rate, p)
			if err != nil {
				return "", err
			}
			log.Printf("scrapes: %d in %.2f s, CPU %.2f s", scraped, taken.Wall.Seconds(), taken.CPU.Seconds())
			if round == 0 {
				continue
			}
			samples[rate] = append(samples[rate], taken)
			answered = max(answered, float64(scraped)/taken.Wall.Seconds())
		}
	}
	without, with := measure.Medians(samples[0]), measure.Medians(samples[scrapesASecond])
	return table.Figures("The first sync of a daemon, 800 MiB in two files, with 1,000 scrapes a second over ten connections, relative to one without scrapes.", []table.Figure{
		table.Row("wall", with.Wall.Seconds()/without.Wall.Seconds(), "%.2f", 0),
		table.Row("CPU of the daemon", with.CPU.Seconds()/without.CPU.Seconds(), "%.2f", 0),
		table.Row("highest rate of answered scrapes, per second", answered, "%.0f", 0),
	}), nil
}

// syncBeside runs a daemon until its first sync is done. The sample has the wall time of
// the sync and the CPU time of the whole process.
func (b bench) syncBeside(ctx context.Context, rate int, p provider.Provider) (taken measure.Sample, scraped int64, err error) {
	if err := p.Forget(); err != nil {
		return measure.Sample{}, 0, err
	}
	d, err := daemon.Start(ctx, b.binary, b.work, p, fmt.Sprintf("http: {listen: \"127.0.0.1:0\"}\nmanifests: [{name: %s}]\n", provider.Manifest))
	if err != nil {
		return measure.Sample{}, 0, err
	}
	scraping, stop := context.WithCancel(ctx)
	var beside scraper
	beside.start(scraping, "http://"+d.Address+"/metrics", rate)
	e, err := d.FirstSync()
	stop()
	beside.workers.Wait()
	taken, ended := d.End()
	taken.Wall = e.Wall()
	return taken, beside.done.Load(), errors.Join(err, beside.failed(), ended)
}

// scraper requests metrics over kept connections.
type scraper struct {
	workers sync.WaitGroup
	done    atomic.Int64
	first   atomic.Pointer[error]
}

const connections = 10

func (s *scraper) start(ctx context.Context, url string, rate int) {
	if rate == 0 {
		return
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	for range connections {
		s.workers.Go(func() {
			tick := time.NewTicker(time.Second * connections / time.Duration(rate))
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					s.scrape(client, url)
				}
			}
		})
	}
}

func (s *scraper) scrape(client *http.Client, url string) {
	res, err := client.Get(url)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	if err != nil {
		s.first.CompareAndSwap(nil, &err)
		return
	}
	s.done.Add(1)
}

func (s *scraper) failed() error {
	if err := s.first.Load(); err != nil {
		return fmt.Errorf("scrape: %w", *err)
	}
	return nil
}
