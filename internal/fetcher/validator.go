package fetcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"unicode"

	"syncd/internal/clients/transport"
	"syncd/internal/disk/fsops"
)

// minSavedSize is the size from which the validator of a file is saved. A smaller
// file is fetched again faster than its validator is written.
const minSavedSize = 1 << 20

// maxCondition bounds the length of a condition. A longer one could make the headers of
// the request too large for the server.
const maxCondition = 1 << 10

// maxValidatorFile bounds the file of a validator; JSON escapes can make a condition
// six times as long.
const maxValidatorFile = 8 << 10

// validatorSuffix, after the name of a partial file, names the file of its validator.
const validatorSuffix = ".validator"

// validator tells whether the server still has the content whose first bytes are in
// a partial file. Its JSON form is kept on disk.
type validator struct {
	Condition string      `json:"validator"`       // an ETag or a date for If-Range; "" if the file cannot be continued
	Total     int64       `json:"total,omitempty"` // the size of the content; 0 if unknown
	Present   []byteRange `json:"here,omitzero"`   // the bytes that are present; nil if the file has no gaps
}

// validatorOf returns the validator of a response with the whole content. A weak ETag
// cannot be used in If-Range (RFC 9110 section 13.1.5), so the date takes its place.
func validatorOf(res *transport.Response) validator {
	condition := res.Header.Get("ETag")
	if strings.HasPrefix(condition, "W/") || condition == "" {
		condition = res.Header.Get("Last-Modified")
	}
	return validator{Condition: sendable(condition), Total: max(res.Length, 0)}
}

// sendable returns condition, or "" if it cannot be a header of a request.
func sendable(condition string) string {
	if len(condition) > maxCondition || strings.ContainsFunc(condition, unicode.IsControl) {
		return ""
	}
	return condition
}

// readValidator returns the validator saved as name in dir. A missing or damaged one is
// empty, and the download then starts from zero, which is always safe.
func readValidator(dir *fsops.Dir, name string) (validator, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return validator{}, nil
	}
	if err != nil {
		return validator{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxValidatorFile {
		return validator{}, fmt.Errorf("%s is not a validator's file", dir.Path(name))
	}
	file, err := dir.OpenRegular(name)
	if err != nil {
		return validator{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return validator{}, err
	}
	return parseValidator(data), nil
}

func parseValidator(data []byte) validator {
	var v validator
	// Older versions saved only the condition, as a JSON string.
	if json.Unmarshal(data, &v.Condition) != nil && json.Unmarshal(data, &v) != nil {
		return validator{}
	}
	return validator{Condition: sendable(v.Condition), Total: max(v.Total, 0), Present: v.Present}
}

// save replaces the validator saved as name in dir. A kill leaves the old one or the new one. A
// power cut can lose both, because nothing is synced: the download starts again.
func (v validator) save(dir *fsops.Dir, name string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temp := fsops.TempName(name)
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.RemoveAll(temp))
	}
	return nil
}

// isStrong returns whether two responses with this validator have the same bytes for
// certain: see RFC 9110 section 8.8.1.
func (v validator) isStrong() bool { return strings.HasPrefix(v.Condition, `"`) }

// checkRange returns an error unless a 206 has the range want of the same content.
// The end of want is endless if the rest of the file was requested. The validator is
// compared too, because a server may ignore If-Range.
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
		return got, fmt.Errorf("requested %s, got bytes %d to %d of %d in a body of %d bytes", want, got.start, got.end, got.total, res.Length)
	case v.Total > 0 && got.total >= 0 && got.total != v.Total, v.Total > 0 && isRest && end != v.Total:
		return got, fmt.Errorf("the size of the file changed from %d to %d bytes", v.Total, max(got.total, end))
	case !v.matches(res.Header):
		return got, errors.New("the validator of the file changed")
	}
	return got, nil
}

// matches returns whether the headers hold the same validator, or none.
func (v validator) matches(h http.Header) bool {
	name := "ETag"
	if _, err := http.ParseTime(v.Condition); err == nil {
		name = "Last-Modified"
	}
	now := h.Get(name)
	return now == "" || now == v.Condition
}
