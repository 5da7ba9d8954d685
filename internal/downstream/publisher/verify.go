package publisher

import (
	"context"
	"time"

	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher/verification"
	"syncd/internal/host/rate"
	"syncd/internal/report"
)

// Verify says how to verify.
type Verify struct {
	Repair bool         // upload again what is missing or damaged
	Read   bool         // read every object, not only some that the server keeps no SHA-256 of
	Rate   *rate.Budget // of everything that is read; nil for no limit
}

// Verify looks for everything that the kept generations name. It needs no lease, and no
// publication waits for it, until it repairs something.
func (p *Publisher) Verify(ctx context.Context, req Verify) (report.Upload, error) {
	if err := p.store.CheckCredentials(); err != nil {
		return report.Upload{Result: report.UploadFailed, Error: err.Error()}, err
	}
	if err := p.verifying.Acquire(ctx, 1); err != nil {
		return report.Upload{}, context.Cause(ctx)
	}
	defer p.verifying.Release(1)
	var lines []verification.Line
	for _, l := range p.lines {
		lines = append(lines, verification.Line{Current: l.current, Mirror: l.mirror})
	}
	v := verification.New(verification.Config{
		Config: p.contents(), Lines: lines, Revision: p.cfg.Revision, Signer: p.cfg.Signer, Log: &p.cfg.Log, Read: req.Read, Pace: req.Rate,
	})
	done, err := p.verifyWith(ctx, v, req.Repair)
	if err != nil {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
		return done, err
	}
	check := v.Report()
	done.Verification = &check
	switch {
	case check.Left() > 0 && done.Result != report.Standby:
		done.Result = report.UploadDamaged
	case check.Left() == 0:
		done.Result = report.UploadVerified
	}
	p.cfg.Observer.Verified(check.Left(), time.Now())
	if err := p.cfg.Keep(done, time.Now()); err != nil {
		p.cfg.Log.Warn().Ctx(ctx).Err(err).Msg("saving the outcome of the verification failed; syncd status may show an older one")
	}
	return done, nil
}

// verifyWith looks through the bucket, and repairs it in the turn of a publication.
func (p *Publisher) verifyWith(ctx context.Context, v *verification.Verification, repair bool) (report.Upload, error) {
	job, end := objectstore.Within(ctx, "verifying the bucket", limitsOfVerification)
	err := v.Look(job)
	end()
	if err != nil {
		return report.Upload{}, err
	}
	if !repair || v.IsWhole() {
		return report.Upload{Generation: v.Generation()}, nil
	}
	return p.queue.Do(ctx, Request{Check: true, mend: v}, p.attempt)
}
