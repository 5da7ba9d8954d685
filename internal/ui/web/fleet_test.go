package web

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/report"
)

// followersScene shows a release that was stopped.
func followersScene(idle *scene) *scene {
	s := *idle
	s.fleet = &report.FleetStatus{
		Followers: []report.FollowerStatus{
			{Name: "eu", Host: "db01", Ring: "canary", LastSeen: *ago(4 * time.Minute), Following: report.Following{Release: "2026.10", State: report.FollowerInSync}},
			{Name: "eu", Host: "db02", Ring: "canary", LastSeen: *ago(9 * time.Minute), Following: report.Following{Release: "2026.09", State: report.FollowerRefused, Refused: "2026.10", Reason: "hash_mismatch"}},
			{Name: "us", Ring: "rest", LastSeen: *ago(time.Hour), Following: report.Following{State: report.FollowerUnknown}},
		},
		Stopped: []report.Stop{{Manifest: "dq_addr_data", Release: "2026.10", By: "canary", From: "rest", Refused: 1, Of: 2, Hosts: []string{"eu/db02"}}},
	}
	s.status.Upload = &report.UploadStatus{
		Place: "https://s3.example.net/refdata/mirror/", State: report.StateInSync, Generation: 12, PublishedAt: ago(11 * 24 * time.Hour),
		Election: &report.ElectionStatus{Leads: true, Holder: "db01-4f0c2d JBSWY3DP"},
	}
	return &s
}

// bucketScene shows a host that cannot publish to its bucket.
func bucketScene(idle *scene) *scene {
	s := *idle
	s.status.Upload = &report.UploadStatus{
		Place: "https://s3.example.net/refdata/mirror/", State: report.StateFailed, Generation: 11, PublishedAt: ago(41 * 24 * time.Hour), FailingSince: ago(5 * time.Hour),
		Error: "put objects/9f/9f86d081884c7d65: 507 Insufficient Storage: the bucket is full",
	}
	return &s
}

func pageOf(t *testing.T, s *scene) string {
	t.Helper()
	rec := httptest.NewRecorder()
	Handler(s, prometheus.NewRegistry()).ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1/", nil))
	return rec.Body.String()
}

func TestPageShowsPublishing(t *testing.T) {
	for name, wants := range map[string][]string{
		"followers": {"Object storage", "Generation 12 in https://s3.example.net/refdata/mirror/ shows what is served", "this host holds the lease"},
		"bucket":    {"2 of 2 current, bucket failed", "fails since", "the bucket is full", "followers keep generation 11"},
	} {
		page := pageOf(t, scenes()[name])
		for _, want := range wants {
			if !strings.Contains(strings.ToLower(page), strings.ToLower(want)) {
				t.Errorf("%s: no %q in\n%s", name, want, page)
			}
		}
	}
}

func TestPageShowsTheFollowersAndWhatWasStopped(t *testing.T) {
	page := pageOf(t, scenes()["followers"])
	for _, want := range []string{
		"1 refused, 1 unknown, 1 in sync", "2026.10 of dq_addr_data is stopped", "1 of 2 hosts of ring canary", "syncd fleet release 2026.10", "2026.10 (hash mismatch)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Index(page, "db02") > strings.Index(page, "db01") {
		t.Error("the worst state is not the first")
	}
	if page := pageOf(t, scenes()["idle"]); strings.Contains(page, "Followers") {
		t.Error("a host without serve shows followers")
	}
}

func TestPageWithManyFollowersStaysSmall(t *testing.T) {
	s := scenes()["followers"]
	for n := range 10_000 {
		s.fleet.Followers = append(s.fleet.Followers, report.FollowerStatus{Name: "eu", Host: fmt.Sprint("h", n), Following: report.Following{State: report.FollowerInSync}})
	}
	page := pageOf(t, s)
	if !strings.Contains(page, "9903 more are not shown") || !strings.Contains(page, "10001 in sync") || len(page) > 200_000 {
		t.Errorf("%d bytes", len(page))
	}
}
