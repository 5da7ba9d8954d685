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
	"syncd/internal/fsops"
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
	Condition string      `json:"validator"`       // an ETag or a date for If-Range; "" when the file cannot be continued
	Total     int64       `json:"total,omitempty"` // the size of the content, 0 when not known
	Present   []byteRange `json:"here,omitzero"`   // the bytes that are present; nil if the file has no gaps
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
	return validator{Condition: sendable(v.Condition), Total: max(v.Total, 0), Present: v.Present}
}

// save replaces the validator at path. A kill leaves the old one or the new one,
// a power cut may lose both.
func (v validator) save(path string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temp := fsops.TempName(path)
	f, err := fsops.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsops.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, fsops.RemoveAll(temp))
	}
	return nil
}

// isStrong is true when bytes of two answers under it are of one content for
// certain, RFC 9110 section 8.8.1.
func (v validator) isStrong() bool { return strings.HasPrefix(v.Condition, `"`) }

// checkRange returns an error unless a 206 brings the bytes of want, of the same
// content. The end of want is endless when the rest was asked for. A server may
// have ignored If-Range.
func (v validator) checkRange(want byteRange, res *transport.Response) (contentRange, error) {
	got, err := parseContentRange(res.Header)
	if err != nil {
		return got, err
	}
	end := got.end + 1
	isRest := want.to == endless
	switch {
	case got.start != want.from, isRest && got.total >= 0 && got.total != end, !isRest && end != want.to,
		res.Length >= 0 && res.Length != end-want.from:
		return got, fmt.Errorf("asked for the bytes %s, got %d to %d of %d in a body of %d", want, got.start, got.end, got.total, res.Length)
	case v.Total > 0 && got.total >= 0 && got.total != v.Total, v.Total > 0 && isRest && end != v.Total:
		return got, fmt.Errorf("the content had %d bytes before and has %d now", v.Total, max(got.total, end))
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
