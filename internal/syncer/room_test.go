package syncer

import (
	"errors"
	"testing"

	"syncd/internal/clients/releases"
	"syncd/internal/report"
	"syncd/internal/syncer/source"
)

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
		"failed":  func(j *job) { j.finish(errors.New("test")) },
	} {
		t.Run(name, func(t *testing.T) {
			room := releases.NewRoom()
			entry := source.New(source.Config{}).Entry(source.Question{Share: takeAll(t, room)})
			end(&job{entry: entry})
			takeAll(t, room)
		})
	}
}
