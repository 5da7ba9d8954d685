package outbox

import (
	"time"

	"syncd/internal/hooks/event"
	"syncd/internal/mirror"
	"syncd/internal/store"
)

// Aging is a manifest whose data expires soon, or has expired.
type Aging struct {
	Record     mirror.Record // without files; served, or withdrawn
	Generation int
	Kind       event.Kind // Expiring or Expired
	Day        string     // the last on which the data may be used
	Text       string     // for people
}

// mark identifies an event. Another day or another revision is another event.
func (a Aging) mark(kind event.Kind) string {
	return a.Record.ID() + " " + a.Day + " " + string(kind)
}

// NotifyAging adds the events about the age of data that were not added before. An expired
// revision is not told as expiring any more.
func (o *Outbox) NotifyAging(all []Aging) error {
	notified, err := o.cfg.Store.Notified()
	if err != nil {
		return err
	}
	isNew := func(notified map[string]store.Notified, a Aging) bool {
		told := notified[a.Record.Manifest].Aged
		return told != a.mark(a.Kind) && told != a.mark(event.Expired) // a clock that is set back changes nothing
	}
	var news []Aging
	for _, a := range all {
		if isNew(notified, a) {
			news = append(news, a)
		}
	}
	if len(news) == 0 { // write nothing
		return nil
	}
	t := &transaction{outbox: o}
	err = o.cfg.Store.Update(func(box *store.Outbox) error {
		t.box, t.added, t.gaveUp = box, nil, nil
		notified, err := box.Notified()
		for _, a := range news {
			if err != nil {
				break
			}
			if isNew(notified, a) { // nobody else has added it meanwhile
				err = t.addAging(a, notified[a.Record.Manifest])
			}
		}
		return err
	})
	if err == nil {
		t.announce()
	}
	return err
}

func (t *transaction) addAging(a Aging, before store.Notified) error {
	data := t.outbox.data(a.Record, a.Generation)
	data.Error, data.Expires = a.Text, a.Day
	if err := t.add(event.New(a.Kind, time.Now().UTC(), data)); err != nil {
		return err
	}
	before.Aged = a.mark(a.Kind)
	return t.box.SetNotified(a.Record.Manifest, before)
}
