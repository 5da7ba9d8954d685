package rings

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// memory is what is known of the followers, and what was decided by it. It is saved in parts.
type memory struct {
	saver  Saver
	saving sync.Mutex // held while entries are saved, so that they are saved in order

	mu sync.RWMutex // guards what follows, and what a Fleet has beside it
	reports
	rulings
	listener
}

func (m *memory) readLocked(saved Reader) error {
	err := saved.Fleet(func(key string, value json.RawMessage) error {
		parts := strings.Split(key, "\x00")
		name, k, isReport := parseReportKey(key)
		switch {
		case isReport:
			m.load(name, k, value)
		case parts[0] == kindStop && (len(parts) == 3 || len(parts) == 4):
			var s report.Stop
			if json.Unmarshal(value, &s) == nil {
				m.stops[targetOf(s)] = s
			}
		case key == kindProving:
			_ = json.Unmarshal(value, &m.proving) // without it, rings begin with what their hosts took
		case parts[0] == kindHeard && len(parts) == 3:
			var since time.Time
			if json.Unmarshal(value, &since) == nil {
				m.heard[place{parts[1], parts[2]}] = heard{Since: since}
			}
		case parts[0] == kindBegun && len(parts) == 4:
			var b begun
			if json.Unmarshal(value, &b) == nil {
				m.begun[target{parts[1], Version{Release: manifest.Release(parts[2]), Revision: parts[3]}}] = b
			}
		case parts[0] == kindApproval && len(parts) == 2:
			var at time.Time
			if json.Unmarshal(value, &at) == nil {
				m.approved[manifest.Release(parts[1])] = at
			}
		}
		return nil // an entry of a newer syncd
	})
	for name, of := range m.accounts {
		m.loaded(name, of)
		for _, manifests := range of.hosts {
			for manifestName, r := range manifests {
				if r.hasState() {
					m.recall(place{r.Ring, manifestName}, r.SeenAt)
				}
			}
		}
	}
	return err
}

func (f *reports) load(name string, k follower, value json.RawMessage) {
	var s savedReport
	if json.Unmarshal(value, &s) != nil {
		return
	}
	if f.count >= f.limit {
		f.surplus = true
		return
	}
	f.put(name, k, &hostReport{
		State: s.state(k.host), Ring: s.Ring, SeenAt: s.SeenAt, Since: s.Since, savedAt: s.SeenAt, stored: true, isPresent: true,
		Shown: Version{Release: s.Shown, Revision: s.ShownRevision}, Took: Version{Release: s.Took, Revision: s.TookRevision}, About: Version{Release: s.About, Revision: s.AboutRevision}, Knew: Version{Release: s.Knew, Revision: s.KnewRevision},
	})
	if of := f.accounts[name]; len(of.hosts) >= 2*f.maxHosts {
		f.loaded(name, of)
	}
}

// leaveFuture makes now of saved times that lie ahead: the clock was ahead before the restart. A
// host that is gone would otherwise count as present until then.
func (m *memory) leaveFuture(now time.Time) {
	for name, of := range m.accounts {
		for h, manifests := range of.hosts {
			for manifestName, r := range manifests {
				if r.SeenAt.After(now) {
					r.SeenAt = now
					m.changed[reportKey(name, follower{h, manifestName})] = true
				}
			}
		}
	}
	for p, h := range m.heard {
		if h.last.After(now) {
			h.last = now
			m.heard[p] = h
		}
	}
	for release, at := range m.approved {
		if at.After(now) {
			m.approved[release] = now
			m.decide(approvalKey(release))
		}
	}
}

// Save saves what changed until now. What changes meanwhile waits for the next Save, because a
// crowd of hosts polls faster than a state takes it. After an error the next Save tries again.
func (m *memory) Save() error {
	if err := m.saveAll(m.findSurplus); err != nil { // saved reports that were not loaded are removed
		return err
	}
	if err := m.saveRulings(); err != nil {
		return err
	}
	m.mu.Lock()
	maps.Copy(m.due, m.changed)
	clear(m.changed)
	m.mu.Unlock()
	return m.saveAll(m.takeDue)
}

// saveRulings saves what was decided. It waits for one transaction of reports at most, of which
// there may be many.
func (m *memory) saveRulings() error {
	_, err := m.saveNext(m.takeDecided)
	return err
}

// saveAll saves the entries that take returns, a transaction at a time, until it returns none.
func (m *memory) saveAll(take func() (map[string]any, error)) error {
	for {
		if isDone, err := m.saveNext(take); isDone || err != nil {
			return err
		}
	}
}

func (m *memory) saveNext(take func() (map[string]any, error)) (isDone bool, err error) {
	m.saving.Lock()
	defer m.saving.Unlock()
	entries, err := take()
	if err != nil || len(entries) == 0 {
		return true, err
	}
	if err := m.saver.SetFleet(entries); err != nil {
		m.giveBack(entries)
		return false, err
	}
	m.noteStored(entries)
	return false, nil
}

var errEnough = errors.New("enough entries for a transaction")

// findSurplus finds saved reports that were not loaded, as many as a transaction may
// remove; none when they are all gone.
func (m *memory) findSurplus() (entries map[string]any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.surplus {
		return nil, nil
	}
	entries = map[string]any{}
	err = m.saver.Fleet(func(key string, _ json.RawMessage) error {
		if len(entries) == maxBatch {
			return errEnough
		}
		if name, k, isReport := parseReportKey(key); isReport && m.get(name, k) == nil {
			entries[key] = nil
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	m.surplus = err != nil || len(entries) > 0
	return entries, err
}

func (m *memory) noteStored(entries map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range entries {
		if name, k, isReport := parseReportKey(key); isReport {
			if r := m.get(name, k); r != nil {
				r.stored = true
			}
		}
	}
}

// maxBatch bounds a transaction, so that it does not hold up the end of a sync.
const maxBatch = 5000

func (m *memory) takeDue() (entries map[string]any, err error) {
	return m.take(m.due), nil
}

func (m *memory) takeDecided() (entries map[string]any, err error) {
	return m.take(m.decided), nil
}

func (m *memory) take(keys map[string]bool) map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := map[string]any{}
	for key := range keys {
		if len(entries) == maxBatch {
			break
		}
		entries[key] = m.entryLocked(key)
		delete(keys, key)
	}
	return entries
}

func (m *memory) giveBack(entries map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range entries {
		if _, _, isReport := parseReportKey(key); isReport {
			m.changed[key] = true
		} else {
			m.decided[key] = true
		}
	}
}

// entryLocked is the entry of a key, nil if there is none any more.
func (m *memory) entryLocked(key string) any {
	parts := strings.Split(key, "\x00")
	switch parts[0] {
	case kindStop:
		t := target{parts[1], Version{Release: manifest.Release(parts[2])}}
		if len(parts) == 4 {
			t.Revision = parts[3]
		}
		if s, found := m.stops[t]; found {
			return s
		}
	case kindProving:
		if len(m.proving) > 0 {
			return m.proving
		}
	case kindHeard:
		if h, found := m.heard[place{parts[1], parts[2]}]; found {
			return h.Since
		}
	case kindBegun:
		if b, found := m.begun[target{parts[1], Version{Release: manifest.Release(parts[2]), Revision: parts[3]}}]; found {
			return b
		}
	case kindApproval:
		if at, found := m.approved[manifest.Release(parts[1])]; found {
			return at
		}
	case kindReport:
		if r := m.get(parts[1], follower{host{parts[2], parts[3]}, parts[4]}); r != nil {
			return savedOf(r)
		}
	}
	return nil
}
