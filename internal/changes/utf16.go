package changes

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"syncd/internal/changes/spill"
)

// utf16Order returns the decoder of a file in UTF-16 with a byte order mark, or nil.
func utf16Order(head []byte) *encoding.Decoder {
	if len(head) < 2 {
		return nil
	}
	switch binary.BigEndian.Uint16(head) {
	case 0xfeff:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()
	case 0xfffe:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	}
	return nil
}

// asUTF8 returns a file as UTF-8. A file in UTF-16 is copied.
func asUTF8(scratch spill.Folder, file content, head []byte) (content, func(), error) {
	decoder := utf16Order(head)
	if decoder == nil {
		return file, func() {}, nil
	}
	copied, remove, err := scratch.File()
	if err != nil {
		return file, nil, err
	}
	to := &spill.Writer{Folder: scratch, To: copied}
	buffered := bufio.NewWriterSize(to, fullChunk)
	_, err = io.Copy(buffered, decoder.Reader(io.NewSectionReader(file, 0, file.size)))
	if err = errors.Join(err, buffered.Flush()); err != nil {
		remove()
		return file, nil, err
	}
	return content{ReaderAt: copied, size: to.Written}, remove, nil
}
