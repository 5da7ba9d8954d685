package catalogue

import (
	"hash/fnv"
	"slices"
	"sync"
)

// sample is generated data, published month by month.
type sample struct {
	mu      sync.Mutex
	month   month // the newest published; 0 before AddSample
	advance int   // how often AdvanceSample was called
	changed map[string]month
}

// sampleFile is a file of the sample: random bytes of a size, or a text.
type sampleFile struct {
	file File
	size int64
	text int
	// changed are the months of 2026 in which the first releases changed it.
	changed []int
}

type sampleManifest struct {
	name  string
	files []sampleFile
	// advances is true when AdvanceSample changes one of its files.
	advances bool
}

// sampleManifests have names from docs/wire/releases.md, "Known names", and
// invented contents.
var sampleManifests = []sampleManifest{
	{name: "dq_addr_data", advances: true, files: []sampleFile{
		{file: File{Name: "mdAddr.dat"}, size: 6 << 20, changed: []int{8, 9, 10}},
		{file: File{Name: "mdAddrKey.db"}, size: 768 << 10, changed: []int{8}},
		{file: File{Name: "Congress.csv"}, text: 24 << 10, changed: []int{8, 9}},
		{file: File{Name: "ews.txt"}, text: 2 << 10, changed: []int{8, 10}},
		{file: File{Name: "mdAddr.lic"}, text: 8, changed: []int{8}},
	}},
	{name: "dq_addr_bins", advances: true, files: []sampleFile{
		{file: library("LINUX", "GCC48", "64BIT", "libmdAddr.so"), size: 300 << 10, changed: []int{8, 9, 10}},
		{file: library("LINUX", "GCC48", "32BIT", "libmdAddr.so"), size: 280 << 10, changed: []int{8, 10}},
		{file: library("WINDOWS", "DLL", "64BIT", "mdAddr.dll"), size: 320 << 10, changed: []int{8, 9}},
		{file: library("ZLINUX", "GCC48", "64BIT", "libmdAddr.so"), size: 290 << 10, changed: []int{8}},
		{file: wrapper("LINUX", "JAVA", "64BIT", "libmdAddrJavaWrapper.so"), size: 40 << 10, changed: []int{8, 9}},
		{file: wrapper("LINUX", "PYTHON", "64BIT", "libmdAddrPythonWrapper.so"), size: 36 << 10, changed: []int{8}},
		{file: wrapper("ANY", "PYTHON", "ANY", "mdAddr_pythoncode.py"), text: 4 << 10, changed: []int{8, 10}},
	}},
	{name: "dq_phone_data", files: []sampleFile{
		{file: File{Name: "dph256.dte"}, size: 1 << 20, changed: []int{8, 9, 10}},
		{file: File{Name: "mdPhone.idx"}, size: 64 << 10, changed: []int{8, 10}},
		{file: File{Name: "mdPhone.lic"}, text: 8, changed: []int{8}},
	}},
	{name: unlisted, advances: true, files: []sampleFile{
		{file: File{Class: ClassProduct, Name: "DataQualitySuite"}, size: 2 << 20, changed: []int{8, 9, 10}},
		{file: tagged("", library("WINDOWS", "NET", "ANY", "mdTool.exe")), size: 90 << 10, changed: []int{8, 10}},
		{file: tagged("NET7", library("WINDOWS", "NET", "ANY", "mdTool.exe")), size: 80 << 10, changed: []int{8, 9}},
	}},
}

func tagged(tag string, f File) File {
	f.Tag = tag
	return f
}

func library(os, compiler, architecture, name string) File {
	return File{Class: ClassLibrary, OS: os, Compiler: compiler, Architecture: architecture, Name: name}
}

func wrapper(os, language, architecture, name string) File {
	return File{Class: ClassInterface, OS: os, Language: language, Architecture: architecture, Name: name}
}

// AddSample publishes the generated sample data: dq_addr_data, dq_addr_bins and
// dq_phone_data in the releases 2026.08 to 2026.10. In the newer ones some
// links name an older release. No manifest lists the product DataQualitySuite and the
// library mdTool.exe, which has a variant with the tag NET7. Calling it again does nothing.
func (c *Catalogue) AddSample() {
	c.sample.mu.Lock()
	defer c.sample.mu.Unlock()
	c.addSampleLocked()
}

func (c *Catalogue) addSampleLocked() {
	s := &c.sample
	if s.month != 0 {
		return
	}
	s.changed = make(map[string]month)
	for number := 8; number <= 10; number++ {
		s.month = monthOf(2026, number)
		for _, m := range sampleManifests {
			for _, f := range m.files {
				if slices.Contains(f.changed, number) {
					s.changed[sampleKey(m, f)] = s.month
				}
			}
		}
		c.publishSampleLocked()
	}
}

// AdvanceSample publishes the next month of the sample data and returns its
// name. One file of dq_addr_data, one of dq_addr_bins and one of the files that no
// manifest lists change, others at the next call. dq_phone_data is a new release of the
// same files. It adds the sample first when that is missing.
func (c *Catalogue) AdvanceSample() (release string) {
	c.sample.mu.Lock()
	defer c.sample.mu.Unlock()
	c.addSampleLocked()
	s := &c.sample
	s.month++
	for _, m := range sampleManifests {
		if m.advances {
			s.changed[sampleKey(m, m.files[s.advance%len(m.files)])] = s.month
		}
	}
	s.advance++
	c.publishSampleLocked()
	return s.month.String()
}

func (c *Catalogue) publishSampleLocked() {
	for _, m := range sampleManifests {
		var files []File
		for _, f := range m.files {
			files = append(files, f.at(c.sample.changed[sampleKey(m, f)]))
		}
		c.SetManifest(m.name, c.sample.month.String(), files...)
	}
}

func sampleKey(m sampleManifest, f sampleFile) string {
	return m.name + "\x00" + f.file.series() + "\x00" + f.file.Tag
}

// at returns the file as a month published it.
func (f sampleFile) at(changed month) File {
	file := f.file
	file.Release = changed.String()
	if f.text > 0 {
		file.Content = textOf(file.Name+" "+file.Release, f.text)
		return file
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(file.series() + file.Tag + file.Release)) // never fails
	file.Content = Random(h.Sum64(), f.size+int64(changed%12)*1000)
	return file
}
