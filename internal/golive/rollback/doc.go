// Package rollback goes back to revisions that were served before. The manifests that go
// back are held there, see mirror.Hold. Package proving uses it after a failed probe.
package rollback
