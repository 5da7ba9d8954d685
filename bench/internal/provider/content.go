package provider

import (
	"io"
	"os"
	"path/filepath"

	"syncd/internal/emulator"
)

// sparseFrom is the size from which a content is a few random bytes and a hole. Cases
// with such files count bytes and memory. Their speed is not measured.
const sparseFrom = GiB

// writeContent writes a content that depends only on its number and size.
func writeContent(path string, number int, size int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer to.Close()
	random, err := emulator.Random(uint64(number+1), size).Open()
	if err != nil {
		return err
	}
	defer random.Close()
	if size >= sparseFrom {
		if _, err := io.CopyN(to, random, 4*KiB); err != nil {
			return err
		}
		return to.Truncate(size)
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, random, make([]byte, MiB))
	return err
}
