package states

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// call is a system call as strace prints it.
type call struct {
	name   string
	args   []string
	result int64
	files  []int // the inodes of the descriptors and paths when it began
	began  int   // the number of events that had ended
	from   time.Time
}

var (
	callLine    = regexp.MustCompile(`^(\d+) +(\d+\.\d+) +(?:<\.\.\. \w+ resumed>)?(.*)$`)
	resultPart  = regexp.MustCompile(`\) += (-?\d+|\?)[^"]*$`)
	socketPath  = regexp.MustCompile(`sun_path="([^"]*)"`)
	escapedByte = regexp.MustCompile(`\\x[0-9a-f]{2}`)
)

// eachCall reads a log of strace. It calls begin when a call begins, end when one has ended
// without an error, and clock with the time of each line.
func eachCall(log io.Reader, clock func(time.Time), begin, end func(*call) error) error {
	running := map[string]*call{}
	halves := map[string]string{}
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line == "" {
			return nil
		}
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		parts := callLine.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		now := time.Unix(0, 0).Add(seconds(parts[2]))
		clock(now)
		if strings.HasPrefix(parts[3], "+++") || strings.HasPrefix(parts[3], "---") {
			continue
		}
		thread, text := parts[1], parts[3]
		if !strings.Contains(line, " resumed>") {
			c := &call{from: now}
			c.name, _, _ = strings.Cut(text, "(")
			whole, isHalf := strings.CutSuffix(text, " <unfinished ...>")
			c.args = arguments(resultPart.ReplaceAllString(whole, ""))
			if err := begin(c); err != nil {
				return err
			}
			running[thread] = c
			if isHalf {
				halves[thread] = whole
				continue
			}
		}
		c := running[thread]
		text = halves[thread] + text
		delete(halves, thread)
		result := resultPart.FindStringSubmatch(text)
		if c == nil || result == nil {
			return fmt.Errorf("strace printed %.300q", line)
		}
		c.args = arguments(resultPart.ReplaceAllString(text, ""))
		if c.result, err = strconv.ParseInt(result[1], 10, 64); err != nil || c.result < 0 {
			continue
		}
		if err := end(c); err != nil {
			return err
		}
	}
}

// seconds reads a time as strace prints it.
func seconds(text string) time.Duration {
	whole, micros, _ := strings.Cut(text, ".")
	s, _ := strconv.ParseInt(whole, 10, 64)
	us, _ := strconv.ParseInt(micros, 10, 64)
	return time.Duration(s)*time.Second + time.Duration(us)*time.Microsecond
}

// arguments splits what stands after the name of a call.
func arguments(text string) (args []string) {
	_, text, _ = strings.Cut(text, "(")
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return append(args, strings.TrimSpace(text[from:]))
}

// unescape returns the bytes of a text in quotes.
func unescape(text string) string {
	return escapedByte.ReplaceAllStringFunc(strings.Trim(text, `"`), func(hex string) string {
		n, _ := strconv.ParseUint(hex[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

// descriptor is the path that strace shows beside a descriptor.
func descriptor(arg string) string {
	_, path, _ := strings.Cut(arg, "<")
	path, _, _ = strings.Cut(path, ">")
	return unescape(path)
}

// pathOf joins a folder's descriptor with a path.
func pathOf(dir, name string) string {
	path := unescape(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(descriptor(dir), path)
	}
	return path
}

// begin resolves what a call names, before other calls rename it.
func (r *recorder) begin(c *call) error {
	c.began = len(r.events)
	switch c.name {
	case "write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate", "fsync", "fdatasync", "syncfs", "fchmod", "lseek", "copy_file_range", "sendfile", "splice":
		for _, arg := range c.args {
			c.files = append(c.files, r.opened(arg))
		}
	}
	return nil
}

// opened is the inode of a descriptor in the folder, 0 for others.
func (r *recorder) opened(arg string) int {
	path := descriptor(arg)
	if found := r.find(path); found != 0 {
		return found
	}
	if f := r.open[int(numberIn(arg))]; f != nil && strings.HasPrefix(path, r.folder+"/") { // it lost its name
		return f.inode
	}
	return 0
}

// end takes up what a call has done, and when it began.
func (r *recorder) end(c *call) error {
	before := len(r.events)
	err := r.take(c)
	for i := range r.events[before:] {
		r.events[before+i].from = c.from
	}
	return err
}

// clock takes the time of a line for that at which all calls before it had ended. It comes
// late rather than early.
func (r *recorder) clock(now time.Time) {
	for ; r.timed < len(r.events); r.timed++ {
		r.events[r.timed].until = now
	}
	if r.reported != 0 && r.reportedAt.IsZero() {
		r.reportedAt = now
	}
}

func (r *recorder) take(c *call) error {
	switch c.name {
	case "open", "creat", "openat":
		return r.ended(c)
	case "close":
		delete(r.open, int(numberIn(c.args[0])))
	case "mkdir", "mkdirat", "symlink", "symlinkat", "link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mknodat", "chmod", "fchmodat":
		return r.named(c)
	case "bind":
		if path := socketPath.FindStringSubmatch(c.args[1]); path != nil {
			return r.make(c, unescape(path[1]), fs.ModeSocket, "", 0o777)
		}
	case "sync":
		r.events = append(r.events, event{What: "sync", sync: &syncEvent{0, c.began}})
	case "truncate":
		if found := r.find(unescape(c.args[0])); found != 0 {
			r.truncate("truncate", found, numberIn(c.args[1]))
		}
	default:
		if c.name == "write" && numberIn(c.args[0]) == 1 && r.reported == 0 { // to a pipe
			r.reported = len(r.events)
		}
		if len(c.files) > 0 && c.files[0] != 0 || len(c.files) > 2 && c.files[2] != 0 && c.name != "pwrite64" {
			return r.through(c, c.files[0])
		}
	}
	return nil
}

// through takes up a call on a descriptor.
func (r *recorder) through(c *call, number int) error {
	what := fmt.Sprintf("%s %s", c.name, strings.TrimPrefix(descriptor(c.args[0]), r.folder+"/"))
	fd := int(numberIn(c.args[0]))
	f := r.open[fd]
	if f == nil {
		f = &file{inode: number}
		r.open[fd] = f
	}
	switch c.name {
	case "fsync", "fdatasync":
		r.events = append(r.events, event{What: what, sync: &syncEvent{number, c.began}})
	case "syncfs":
		r.events = append(r.events, event{What: what, sync: &syncEvent{0, c.began}})
	case "lseek":
		f.at = c.result
	case "fchmod":
		r.do(what, change{slot{kind: modeSlot, inode: number}, numberIn(c.args[1])})
	case "ftruncate":
		r.truncate(what, number, numberIn(c.args[1]))
	case "pwrite64":
		r.write(what, number, numberIn(c.args[3]), []byte(unescape(c.args[1]))[:c.result])
	case "write":
		if f.isLog {
			f.at = r.now[slot{kind: sizeSlot, inode: number}]
		}
		r.write(what, number, f.at, []byte(unescape(c.args[1]))[:c.result])
		f.at += c.result
	default:
		return fmt.Errorf("%s: this call is not in the model", what)
	}
	return nil
}

// ended takes up a call that opened a file.
func (r *recorder) ended(c *call) error {
	dir, args := "", c.args
	if c.name == "openat" {
		dir, args = c.args[0], c.args[1:]
	}
	flags := "O_CREAT|O_TRUNC"
	if c.name != "creat" {
		flags = args[1]
	}
	path := pathOf(dir, args[0])
	parent, name := r.place(path)
	if parent == 0 {
		delete(r.open, int(c.result))
		return nil
	}
	if strings.Contains(flags, "O_TMPFILE") {
		return fmt.Errorf("%s: O_TMPFILE is not in the model", path)
	}
	number := r.find(path)
	if number == 0 && strings.Contains(flags, "O_CREAT") {
		number = r.create(fmt.Sprintf("create %s", path), parent, name, 0, "", numberIn(args[len(args)-1]))
	}
	if number != 0 && r.inodes[number].kind == 0 && strings.Contains(flags, "O_TRUNC") {
		r.truncate("truncate "+path, number, 0)
	}
	if number != 0 {
		r.open[int(c.result)] = &file{inode: number, isLog: strings.Contains(flags, "O_APPEND")}
	}
	return nil
}

// umask is that of the tests' children.
const umask = 0o022

func (r *recorder) create(what string, parent int, name string, kind fs.FileMode, target string, mode int64) int {
	number := r.add(kind, target)
	r.now[slot{kind: modeSlot, inode: number}], r.first[slot{kind: modeSlot, inode: number}] = mode&^umask, mode&^umask
	r.do(strings.Replace(what, r.folder+"/", "", 1), change{slot{kind: nameSlot, inode: parent, name: name}, int64(number)})
	return number
}

// named takes up a call that changes names.
func (r *recorder) named(c *call) error {
	at := func(i int) string { return pathOf(c.args[i], c.args[i+1]) }
	cwd := func(i int) string { return unescape(c.args[i]) }
	switch c.name {
	case "mkdir":
		return r.make(c, cwd(0), fs.ModeDir, "", numberIn(c.args[1]))
	case "mkdirat":
		return r.make(c, at(0), fs.ModeDir, "", numberIn(c.args[2]))
	case "symlink":
		return r.make(c, cwd(1), fs.ModeSymlink, cwd(0), 0o777)
	case "symlinkat":
		return r.make(c, at(1), fs.ModeSymlink, cwd(0), 0o777)
	case "link":
		return r.linked(c, cwd(0), cwd(1))
	case "linkat":
		return r.linked(c, at(0), at(2))
	case "rename":
		return r.renamed(c, cwd(0), cwd(1), "")
	case "renameat":
		return r.renamed(c, at(0), at(2), "")
	case "renameat2":
		return r.renamed(c, at(0), at(2), c.args[4])
	case "unlink", "rmdir":
		return r.removed(c, cwd(0))
	case "unlinkat":
		return r.removed(c, at(0))
	case "chmod":
		return r.chmod(c, cwd(0), c.args[1])
	case "fchmodat":
		return r.chmod(c, at(0), c.args[2])
	}
	if parent, _ := r.place(at(0)); parent != 0 {
		return fmt.Errorf("%s: this call is not in the model", c.name)
	}
	return nil
}

func (r *recorder) make(c *call, path string, kind fs.FileMode, target string, mode int64) error {
	if parent, name := r.place(path); parent != 0 {
		r.create(c.name+" "+path, parent, name, kind, target, mode)
	}
	return nil
}

func (r *recorder) chmod(c *call, path, mode string) error {
	if number := r.find(path); number != 0 {
		r.do(c.name+" "+r.short(path), change{slot{kind: modeSlot, inode: number}, numberIn(mode)})
	}
	return nil
}

func (r *recorder) removed(c *call, path string) error {
	if parent, name := r.place(path); parent != 0 {
		r.do(c.name+" "+r.short(path), change{slot{kind: nameSlot, inode: parent, name: name}, 0})
	}
	return nil
}

func (r *recorder) linked(c *call, from, to string) error {
	number := r.find(from)
	parent, name := r.place(to)
	if parent == 0 && number == 0 {
		return nil
	}
	if parent == 0 || number == 0 {
		return fmt.Errorf("link %s %s: one of them is outside", from, to)
	}
	r.do(c.name+" "+r.short(from)+" "+r.short(to), change{slot{kind: nameSlot, inode: parent, name: name}, int64(number)})
	return nil
}

func (r *recorder) renamed(c *call, from, to, flags string) error {
	oldParent, oldName := r.place(from)
	parent, name := r.place(to)
	if parent == 0 && oldParent == 0 {
		return nil
	}
	if parent == 0 || oldParent == 0 {
		return fmt.Errorf("rename %s %s: one of them is outside", from, to)
	}
	source, target := slot{kind: nameSlot, inode: oldParent, name: oldName}, slot{kind: nameSlot, inode: parent, name: name}
	left := int64(0)
	if strings.Contains(flags, "RENAME_EXCHANGE") {
		left = r.now[target]
	}
	r.do(c.name+" "+r.short(from)+" "+r.short(to), change{target, r.now[source]}, change{source, left})
	return nil
}

func (r *recorder) short(path string) string { return strings.TrimPrefix(path, r.folder+"/") }
