package syncer

import (
	"errors"
	"testing"

	"syncd/internal/clients/releases"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/syncer/source"
)

// takeAll takes all memory for lists.
func takeAll(t *testing.T, room *releases.Room) *releases.Share {
	share := room.NewShare()
	if err := share.Wait(t.Context(), 1<<40); err != nil {
		t.Fatal(err)
	}
	return share
}

func TestAJobGivesTheMemoryOfItsListBackWhenItEnds(t *testing.T) {
	for name, end := range map[string]func(*job){
		"settled": func(j *job) { j.settle(report.Unchanged) },
		"failed":  func(j *job) { j.fail(errors.New("test")) },
	} {
		t.Run(name, func(t *testing.T) {
			room := releases.NewRoom()
			entry := source.New(source.Config{}).Entry(source.Question{Share: takeAll(t, room)})
			j := &job{entry: entry, files: make([]manifest.File, 1)}
			end(j)
			takeAll(t, room)
			if j.files != nil {
				t.Error("the files are kept")
			}
		})
	}
}
