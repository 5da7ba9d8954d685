package refusal

import (
	"errors"
	"fmt"
)

// Reason says why something was refused. Its text is part of the contract:
// it is the value of the label "reason" in metrics and of the key "reason" in JSON.
type Reason string

// The reasons, as metrics and JSON name them.
const (
	HashMismatch Reason = "hash_mismatch"
	BadName      Reason = "bad_name"
	BadRelease   Reason = "bad_release"
	PathClash    Reason = "path_clash"
	Empty        Reason = "empty"
	Shrink       Reason = "shrink"
	Downgrade    Reason = "downgrade"
	NoSpace      Reason = "no_space"
	TooLarge     Reason = "too_large"
	BadShape     Reason = "bad_shape"
	Insecure     Reason = "insecure"
	Gate         Reason = "gate"
	Probe        Reason = "probe"
	Expired      Reason = "expired"

	// Of a follower with a trust file.
	Unsigned         Reason = "unsigned"
	BadSignature     Reason = "bad_signature"
	UpstreamRollback Reason = "upstream_rollback"
	UpstreamFrozen   Reason = "upstream_frozen"
	WrongOrigin      Reason = "wrong_origin"
	BadTrust         Reason = "bad_trust"
)

// Reasons returns every reason, in the order of the contract.
func Reasons() []Reason {
	return []Reason{
		HashMismatch, BadName, BadRelease, PathClash, Empty, Shrink, Downgrade, NoSpace, TooLarge, BadShape, Insecure, Gate, Probe, Expired,
		Unsigned, BadSignature, UpstreamRollback, UpstreamFrozen, WrongOrigin, BadTrust,
	}
}

// Error is a refusal: a reason for programs and a cause for people.
type Error struct {
	Reason Reason
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// New returns a refusal whose text is formatted as by fmt.Errorf, %w included.
func New(reason Reason, format string, args ...any) error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// ReasonOf returns the reason of the outermost refusal in err's chain, or "".
func ReasonOf(err error) Reason {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Reason
	}
	return ""
}
