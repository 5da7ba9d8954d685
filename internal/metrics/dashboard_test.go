package metrics

import (
	"encoding/json"
	"testing"
)

// board is the part of a dashboard that Grafana needs to load it, and to ask Prometheus.
type board struct {
	UID        string
	Schema     int `json:"schemaVersion"`
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Type string
			Query      any // of a data source its type, otherwise an object
		}
	}
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  datasource
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID, Expr string
		Datasource  datasource
	}
}

type datasource struct{ UID string }

// TestDashboardIsValid checks what Grafana does not say when it loads a dashboard.
func TestDashboardIsValid(t *testing.T) {
	var b board
	must(t, json.Unmarshal([]byte(read(t, dashboardFile)), &b))
	if first := b.Templating.List[0]; b.UID != "syncd" || b.Schema < 36 || first.Name != "datasource" || first.Type != "datasource" || first.Query != "prometheus" {
		t.Errorf("uid %q, schema %d, first variable %+v", b.UID, b.Schema, first)
	}
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, p := range b.Panels {
		if other, taken := ids[p.ID]; taken || p.Title == "" {
			t.Errorf("panel %d is %q and %q", p.ID, other, p.Title)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("at %d,%d are %q and %q", x, y, p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" {
			p.check(t)
		}
	}
}

// check expects that each query has a name of its own and uses the chosen data source.
func (p panel) check(t *testing.T) {
	t.Helper()
	names := map[string]bool{}
	for _, target := range p.Targets {
		if names[target.RefID] || target.RefID == "" || target.Datasource != p.Datasource {
			t.Errorf("panel %q: query %+v", p.Title, target)
		}
		names[target.RefID] = true
	}
	if len(names) == 0 || p.Datasource.UID != "${datasource}" {
		t.Errorf("panel %q: %d queries, data source %q", p.Title, len(names), p.Datasource.UID)
	}
}
