package report

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/report/request"
)

func TestPagesAreTheJSONOfTheWhole(t *testing.T) {
	followers := []FollowerStatus{{Name: "a", Host: "<b>", Manifests: []FollowedManifest{{Manifest: "m"}}}, {Name: "c"}, {Name: "d", Manifests: []FollowedManifest{}}}
	for _, many := range []int{0, 1, 3} {
		whole := FleetStatus{Rings: []RingStatus{{Name: "canary"}}, Followers: followers[:many], Stopped: []Stop{{Manifest: "m", Hosts: []string{"x"}}}}
		if many == 0 {
			whole.Rings, whole.Stopped = []RingStatus{}, []Stop{}
		}
		pages := FleetPages(func(after *request.Follower) (page FleetPage, err error) {
			page.Rings, page.Stopped = []RingStatus{}, []Stop{}
			at := 0
			if after == nil {
				page.Rings, page.Stopped = whole.Rings, whole.Stopped
			} else {
				at = int(after.Host[0])
			}
			if at < many {
				page.Followers = whole.Followers[at : at+1]
			}
			if at+1 < many {
				page.Next = &request.Follower{Host: string(rune(at + 1))}
			}
			return page, nil
		})
		var got strings.Builder
		if err := pages.WriteJSON(&got); err != nil {
			t.Fatal(err)
		}
		want, err := json.MarshalIndent(whole, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want)+"\n", got.String()); diff != "" {
			t.Errorf("%d followers: %s", many, diff)
		}
	}
	gone := errors.New("gone")
	if err := FleetPages(func(*request.Follower) (FleetPage, error) { return FleetPage{}, gone }).WriteJSON(&strings.Builder{}); !errors.Is(err, gone) {
		t.Error(err)
	}
}
