package mirror

// More can become known of a revision after it went live: what the provider says about its
// files. The records of `current` and the kept ones then change, and the trees stay.

// keepDescribed writes the kept records of revisions of which more is known.
func (m *Mirror) keepDescribed(described []Record) error {
	for _, d := range described {
		if record := m.Current().Records[d.Manifest]; record.ID() == d.ID() {
			if err := m.keepRecord(record.DescribedAs(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Describe keeps a record of an earlier revision of which more is known now, unless the
// revision is gone.
func (m *Mirror) Describe(record Record) error {
	if gone := m.findTree(record.Dir()); gone != nil {
		return nil //nolint:nilerr // nothing is to be kept
	}
	return m.keepRecord(record)
}

// Described returns a record of an earlier generation with what is known of its revision
// by now.
func (m *Mirror) Described(record Record) Record {
	if kept, err := m.Revision(record.Manifest, record.ID()); err == nil && kept.Described {
		return record.DescribedAs(kept)
	}
	return record
}
