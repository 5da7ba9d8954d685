package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// measureScrapes prints what scrapes cost the first sync of a daemon: in turn
// without and with them, each in a fresh directory.
func measureScrapes(rate int, syncd, work string, runs int) error {
	w := workloads()[0]
	s, err := serve(w)
	if err != nil {
		return err
	}
	defer s.emulator.Close()
	rates := []int{0, rate}
	samples := map[int][]sample{}
	for round := range runs + 1 {
		for _, r := range rates {
			taken, scraped, err := syncBeside(r, syncd, s, work)
			if err != nil {
				return err
			}
			log.Printf("%d scrapes in %.2fs, CPU %.2fs", scraped, taken.wall.Seconds(), taken.cpu.Seconds())
			if round > 0 {
				samples[r] = append(samples[r], taken)
			}
		}
	}
	fmt.Print("| workload | scrapes a second | sync | CPU |\n|---|---|---|---|\n")
	for _, r := range rates {
		fmt.Printf("| %s: %s | %d | %.2f s | %.2f s |\n", w.name, w.what, r,
			median(samples[r], func(s sample) time.Duration { return s.wall }).Seconds(),
			median(samples[r], func(s sample) time.Duration { return s.cpu }).Seconds())
	}
	return nil
}

// event is a line of the daemon's log.
type event struct {
	Message, Address string
	Changed          bool
	Seconds          float64
}

// syncBeside runs a daemon until its first sync is done; wall is the sync's, CPU
// the whole process's.
func syncBeside(rate int, syncd string, s *served, work string) (taken sample, scraped int64, err error) {
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return sample{}, 0, err
	}
	text := fmt.Sprintf("source: {url: %q, customer_id: %q}\ndata_dir: %q\nhttp: {listen: \"127.0.0.1:0\"}\nmanifests: [{name: %s}]\n",
		s.emulator.URL(), customerID, filepath.Join(dir, "data"), manifestName)
	if err := writeAll(dir, map[string]string{"syncd.yaml": text}); err != nil {
		return sample{}, 0, err
	}
	cmd := exec.Command(syncd, "--config", filepath.Join(dir, "syncd.yaml"), "run")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return sample{}, 0, err
	}
	if err := cmd.Start(); err != nil {
		return sample{}, 0, err
	}
	taken.wall, scraped, err = follow(stderr, rate)
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
	taken.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return taken, scraped, err
}

// follow reads the log up to the end of the first sync, and scrapes until then.
func follow(stderr io.Reader, rate int) (wall time.Duration, scraped int64, err error) {
	var s scraper
	ctx, stop := context.WithCancel(context.Background())
	defer s.workers.Wait()
	defer stop()
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var e event
		switch err := json.Unmarshal(lines.Bytes(), &e); {
		case err != nil:
			return 0, 0, fmt.Errorf("the daemon wrote %q", lines.Text())
		case e.Message == "listening":
			s.start(ctx, "http://"+e.Address+"/metrics", rate)
		case e.Message == "sync" && !e.Changed:
			return 0, 0, fmt.Errorf("the sync failed: %s", lines.Text())
		case e.Message == "sync":
			return time.Duration(e.Seconds * float64(time.Second)), s.done.Load(), s.failed()
		}
	}
	return 0, 0, errors.New("the daemon ended before its first sync did")
}

// scraper asks for metrics over connections that stay open.
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
