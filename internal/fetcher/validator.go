package fetcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"unicode"

	"syncd/internal/clients/transport"
	"syncd/internal/durable"
)

// worthResuming is the size from which a partial file remembers its validator; a
// smaller one is fetched again faster than it is looked after.
const worthResuming = 1 << 20

// maxCondition is longer than any honest one; a long one sent back would be
// refused for the size of the request's headers.
const maxCondition = 1 << 10

// maxValidator bounds the file of a validator, whose condition may be escaped.
const maxValidator = 8 << 10

// validatorSuffix names the file beside a partial one that holds its validator.
const validatorSuffix = ".validator"

// validator is how to tell that a server still has the content of which a
// partial file is the beginning.
type validator struct {
	Condition string `json:"validator"`       // an ETag or a date for If-Range; "" when the file cannot be continued
	Total     int64  `json:"total,omitempty"` // the size of the content, 0 when not known
}

// validatorOf reads the answer with the whole content.
func validatorOf(res *transport.Response) validator {
	condition := res.Header.Get("ETag")
	if strings.HasPrefix(condition, "W/") || condition == "" {
		condition = res.Header.Get("Last-Modified")
	}
	return validator{Condition: sendable(condition), Total: max(res.Length, 0)}
}

// sendable is condition, or "" when it cannot be a header of a request.
func sendable(condition string) string {
	if len(condition) > maxCondition || strings.ContainsFunc(condition, unicode.IsControl) {
		return ""
	}
	return condition
}

// readValidator returns the validator kept at path. A missing or garbled one is
// empty: the download starts again, which is always right.
func readValidator(path string) (validator, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return validator{}, nil
	}
	if err != nil {
		return validator{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxValidator {
		return validator{}, fmt.Errorf("%s holds no validator", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return validator{}, err
	}
	return parseValidator(data), nil
}

func parseValidator(data []byte) validator {
	var v validator
	// Before sizes were kept, the file held the condition alone.
	if json.Unmarshal(data, &v.Condition) != nil && json.Unmarshal(data, &v) != nil {
		return validator{}
	}
	return validator{Condition: sendable(v.Condition), Total: max(v.Total, 0)}
}

// keep writes the validator to path. A power cut may lose or tear it.
func (v validator) keep(path string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// checkRest returns an error unless a 206 brings what is missing, from the byte
// at have to the end, of the same content. A server may have ignored If-Range.
func (v validator) checkRest(have int64, res *transport.Response) (contentRange, error) {
	got, err := parseContentRange(res.Header)
	if err != nil {
		return got, err
	}
	size := got.end + 1
	switch {
	case got.start != have, got.total >= 0 && got.total != size, res.Length >= 0 && res.Length != size-have:
		return got, fmt.Errorf("asked for bytes from %d, got %d to %d of %d in a body of %d", have, got.start, got.end, got.total, res.Length)
	case v.Total > 0 && v.Total != size:
		return got, fmt.Errorf("the content had %d bytes before and has %d now", v.Total, size)
	case !v.allows(res.Header):
		return got, errors.New("the content has another validator now")
	}
	return got, nil
}

// allows is true when the headers name no other content than the condition does.
func (v validator) allows(h http.Header) bool {
	name := "ETag"
	if _, err := http.ParseTime(v.Condition); err == nil {
		name = "Last-Modified"
	}
	now := h.Get(name)
	return now == "" || now == v.Condition
}
