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
)

const scrapesASecond = 1000

// measureScrapes measures how much frequent scrapes slow the first sync of a daemon. It
// alternates runs without and with scrapes, each in a fresh directory.
func measureScrapes(ctx context.Context, b bench) (string, error) {
	s, err := b.serve(ctx, []int64{b.smaller(300 * mib), b.smaller(500 * mib)}, link{})
	if err != nil {
		return "", err
	}
	defer s.emulator.Close()
	samples, answered := map[int][]sample{}, 0.0
	for round := range b.runs + 1 {
		for _, rate := range []int{0, scrapesASecond} {
			taken, scraped, err := b.syncBeside(ctx, rate, s)
			if err != nil {
				return "", err
			}
			log.Printf("scrapes: %d in %.2f s, CPU %.2f s", scraped, taken.wall.Seconds(), taken.cpu.Seconds())
			if round == 0 {
				continue
			}
			samples[rate] = append(samples[rate], taken)
			answered = max(answered, float64(scraped)/taken.wall.Seconds())
		}
	}
	without, with := medians(samples[0]), medians(samples[scrapesASecond])
	return figuresTable("The first sync of a daemon, 800 MiB in two files, with 1,000 scrapes a second over ten connections, relative to one without scrapes.", []figure{
		{"wall", with.wall.Seconds() / without.wall.Seconds(), "%.2f", 0},
		{"CPU of the daemon", with.cpu.Seconds() / without.cpu.Seconds(), "%.2f", 0},
		{"highest rate of answered scrapes, per second", answered, "%.0f", 0},
	}), nil
}

// syncBeside runs a daemon until its first sync is done. The sample has the wall time of
// the sync and the CPU time of the whole process.
func (b bench) syncBeside(ctx context.Context, rate int, s *served) (taken sample, scraped int64, err error) {
	s.emulator.ResetRequests()
	d, err := b.startDaemon(ctx, s, fmt.Sprintf("http: {listen: \"127.0.0.1:0\"}\nmanifests: [{name: %s}]\n", manifestName))
	if err != nil {
		return sample{}, 0, err
	}
	scraping, stop := context.WithCancel(ctx)
	var beside scraper
	beside.start(scraping, "http://"+d.address+"/metrics", rate)
	e, err := d.next("sync")
	if err == nil && !e.Changed {
		err = errors.New("the sync failed")
	}
	stop()
	beside.workers.Wait()
	taken, ended := d.end()
	taken.wall = e.wall()
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
