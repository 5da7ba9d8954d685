package objectstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// LocalError is a fault of this host, which another request cannot repair.
type LocalError struct{ Err error }

func (e *LocalError) Error() string { return e.Err.Error() }
func (e *LocalError) Unwrap() error { return e.Err }

// refusedError is the error of a request that mayWrite refused.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// refusing returns mayWrite with its errors marked.
func refusing(mayWrite func() error) func() error {
	return func() error {
		if err := mayWrite(); err != nil {
			return &refusedError{err}
		}
		return nil
	}
}

// classify returns the error to give up with, or nil for a fault that may pass.
func classify(err error) error {
	var local *LocalError
	if errors.As(err, &local) {
		return local.Err
	}
	if answer, ok := answerOf(err); ok {
		return classifyAnswer(answer)
	}
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &certificate) || errors.As(err, &authority) {
		return fmt.Errorf("%w: name the authority in source.ca_file", err)
	}
	return nil
}

// answerOf returns the server's answer that err stands for.
func answerOf(err error) (minio.ErrorResponse, bool) {
	var answer minio.ErrorResponse
	return answer, errors.As(err, &answer) && answer.StatusCode != 0
}

func classifyAnswer(a minio.ErrorResponse) error {
	switch {
	case a.StatusCode == http.StatusPreconditionFailed:
		return ErrChanged
	case a.StatusCode == http.StatusConflict, a.StatusCode == http.StatusTooManyRequests, a.StatusCode == http.StatusRequestTimeout,
		a.StatusCode >= 500 && a.StatusCode != http.StatusNotImplemented:
		return nil
	case a.Code == "BadDigest", a.Code == "XAmzContentSHA256Mismatch":
		return fmt.Errorf("%w: the bytes on this host's disk may be damaged: `syncd verify --repair` finds and mends them", a)
	case a.Code == minio.NoSuchBucket:
		return fmt.Errorf("%w: make the bucket, or correct its name in publish.s3", a)
	case a.Code == minio.NoSuchUpload:
		return ErrNoUpload
	case a.StatusCode == http.StatusNotFound && !isUnknownKey(a):
		return ErrNotThere
	case a.StatusCode == http.StatusForbidden, a.StatusCode == http.StatusUnauthorized, isUnknownKey(a):
		return fmt.Errorf("%w: check the credentials, what they may do, and this host's clock", a)
	}
	return a
}

// isUnknownKey is true where the server does not know the access key. versitygw says so with
// the status of a missing object.
func isUnknownKey(a minio.ErrorResponse) bool {
	return a.Code == "InvalidAccessKeyId" || a.Code == "XAdminUserNotFound"
}

// hasNoUploads is true for the answer of a server without uploads in progress: rclone and
// gofakes3 answer 404 to the list, s3rver has no such list and answers 501.
func hasNoUploads(err error) bool {
	answer, ok := answerOf(err)
	return ok && answer.Code != minio.NoSuchBucket && !isUnknownKey(answer) &&
		(answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusNotImplemented)
}

// ErrNoUpload says that a multipart upload has ended, perhaps by another publisher.
var ErrNoUpload = errors.New("the upload is gone")

// AnswerOf returns the code and the status of the server's answer that caused err.
func AnswerOf(err error) (code string, status int) {
	answer, _ := answerOf(err)
	return answer.Code, answer.StatusCode
}
