// Package identity keeps which publisher of a bucket this host is, and what it wrote.
package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/store"
)

// Memory keeps which publisher this is, beyond the end of the process.
type Memory interface {
	Publisher() (store.Publisher, error)
	SetPublisher(store.Publisher) error
}

// Identity tells this publisher from all others of a bucket. Its id is random, so that two
// hosts of one image differ. It belongs to one machine and folder: the copy of a state
// elsewhere gets another id. The copy of a whole machine is found out when the bucket has a
// generation of this name that this publisher did not write.
type Identity struct {
	*shared
	ring string // whose generations it knows; "" for the last ring
}

type shared struct {
	memory Memory

	mu    sync.Mutex // guards what follows
	known store.Publisher
}

// maxWritten is how many generations a publisher knows as its own: the newest, and those
// whose write may have failed.
const maxWritten = 8

// New returns the identity that is kept, or a new one. An error says that it will
// be forgotten at the end of the process.
func New(memory Memory, dir string) (*Identity, error) {
	known, err := memory.Publisher()
	i := &Identity{shared: &shared{memory: memory, known: known}}
	if home := homeOf(dir); err != nil || known.ID == "" || known.Home != home {
		i.known = store.Publisher{ID: newID(), Home: home}
		err = memory.SetPublisher(i.known)
	}
	return i, err
}

// In is this publisher for another ring. A ring that waits for long must not forget what it has
// while other rings have news.
func (i *Identity) In(ring string) *Identity { return &Identity{i.shared, ring} }

func newID() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random) // it never fails
	return hex.EncodeToString(random)
}

// Name names this publisher in texts.
func (i *Identity) Name() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host[:min(len(host), 64)] + "-" + i.known.ID
}

// Wrote is true for the text of a generation that this publisher wrote.
func (i *Identity) Wrote(sum manifest.ObjectID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.writtenLocked(), sum)
}

// WroteLater is true for the text of a generation after which this publisher wrote another one.
func (i *Identity) WroteLater(sum manifest.ObjectID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.Index(i.writtenLocked(), sum)
	return at >= 0 && at < len(i.writtenLocked())-1
}

// Remember keeps a generation that is about to be written.
func (i *Identity) Remember(sum manifest.ObjectID) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	written := append(slices.Clone(i.writtenLocked()), sum)
	written = written[max(len(written)-maxWritten, 0):]
	if i.ring == "" {
		i.known.Written = written
	} else {
		rings := map[string][]manifest.ObjectID{i.ring: written}
		for ring, of := range i.known.Rings {
			if ring != i.ring && len(rings) < maxRings {
				rings[ring] = of
			}
		}
		i.known.Rings = rings
	}
	return i.memory.SetPublisher(i.known)
}

// maxRings bounds the rings whose generations are known. A configuration has fewer.
const maxRings = 64

// writtenLocked are the generations of the ring.
func (i *Identity) writtenLocked() []manifest.ObjectID {
	if i.ring == "" {
		return i.known.Written
	}
	return i.known.Rings[i.ring]
}

// Renew gives this publisher another name: another host has this one.
func (i *Identity) Renew() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known.ID = newID()
	return i.memory.SetPublisher(i.known)
}

// homeOf identifies the machine and the data directory. It is a digest, because the
// machine's own id is not for others.
func homeOf(dir string) string {
	machine, _, _ := fsops.ReadRegular("/etc/machine-id", 4096) // containers have none
	var inode uint64
	if folder, err := fsops.OpenDir(dir); err == nil {
		if info, err := folder.Info("."); err == nil {
			inode = info.Inode()
		}
		_ = folder.Close() // it was only looked at
	}
	sum := sha256.Sum256([]byte("syncd publisher\x00" + string(machine) + "\x00" + filepath.Clean(dir) + "\x00" + strconv.FormatUint(inode, 10)))
	return hex.EncodeToString(sum[:])
}
