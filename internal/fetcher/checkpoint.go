package fetcher

// checkpointEvery is how many bytes of a file with gaps may have to come again after
// a kill.
const checkpointEvery = 4 << 20

// allowGaps must be called before anything is written behind a gap: from then on
// the size of the file does not say which bytes are present, and checkpoints do.
func (p *partial) allowGaps() error {
	p.mu.Lock()
	hadGaps := p.hasGaps
	p.hasGaps, p.isSaving = true, p.isSaving || !hadGaps
	p.mu.Unlock()
	if hadGaps {
		return nil
	}
	return p.saveCheckpoint()
}

// beginCheckpointIfDueLocked counts n bytes that arrived. If it returns true, the
// caller must call saveCheckpoint.
func (p *partial) beginCheckpointIfDueLocked(n int64) bool {
	if !p.hasGaps {
		return false
	}
	p.unsaved += n
	if p.unsaved < checkpointEvery || p.isSaving {
		return false
	}
	p.isSaving = true
	return true
}

// saveCheckpoint writes the validator to its file and, if there are gaps, which
// bytes are present. Other connections continue meanwhile.
func (p *partial) saveCheckpoint() error {
	p.mu.Lock()
	v := p.validator
	if p.hasGaps {
		v.Present = append([]byteRange{}, p.layout.present...)
	}
	p.mayBeSaved, p.unsaved = true, 0
	p.mu.Unlock()
	err := p.file.track(v.save(p.path + validatorSuffix))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isSaving = false
	return err
}
