package releases

import "syncd/internal/clients/service"

// Operations describes the twenty operations of the file release service for
// callers that choose one by name. The mirror uses Client. The wire facts are in
// docs/wire/releases.md.
func Operations() []*service.Operation {
	operations := []*service.Operation{browse}
	operations = append(operations, perClass("Download", "Download", withRelease, nil)...)
	operations = append(operations, perClass("Releases", "List the releases of", withoutRelease, listFormats)...)
	operations = append(operations, manifestReleases, manifestFiles, manifestList)
	operations = append(operations, perClass("Metadata", "Show the metadata of", withRelease, objectFormats)...)
	return append(operations, perClass("{hashtype}", "Show the {hashtype} hash of", withRelease, listFormats)...)
}

// Formats of answers. docs/wire/releases.md, section "List formats": a list and
// a hash come in six formats, metadata in two.
var (
	listFormats   = []string{"json", "xml", "crLfList", "lfList", "comma", "tab"}
	objectFormats = []string{"json", "xml"}
	fileFormat    = []string{service.FormatFile}
)

// Inputs that are path segments.
var (
	operatingSystem = segment("os", "LINUX, WINDOWS, ANY ...")
	compiler        = segment("compiler", "GCC48, DLL, JAVA, ANY ...")
	language        = segment("language", "JAVA, PYTHON ...")
	architecture    = segment("architecture", "32BIT, 64BIT, ANY")
	releaseOf       = segment("release", "YYYY.MM, YYYY.Qn, YYYY.Bn or latest")
	fileName        = segment("filename", "")
	productName     = segment("productname", "")
	manifestName    = segment("manifest", "as `syncd manifests` lists it")
	hashType        = service.Input{Name: "hashtype", Kind: service.OneOf("SHA256", "SHA1", "MD5"), Required: true}
	tag             = service.Input{Name: "tag", Query: "tag", Kind: service.Text, Help: "variant of the file, e.g. for an older runtime"}
)

func segment(name, means string) service.Input {
	return service.Input{Name: name, Kind: service.Segment, Required: true, Help: means}
}

var browse = &service.Operation{
	Name: "Browse", Summary: "Show the web page that lists releases and manifests",
	Methods: service.GetOnly, Formats: fileFormat, AnyShape: true,
	Fields: service.Fields{Inputs: []service.Input{
		{Name: "mft", Query: "mft", Kind: service.Text, Help: "manifest"},
		{Name: "release", Query: "release", Kind: service.Text},
		{Name: "sort", Query: "sort", Kind: service.Text, Help: "fileName, size, release, type, os, compiler or architecture; descending with d in front: dsize"},
	}},
}

var manifestReleases = list("ManifestReleases/{manifest}", "List the releases of a manifest", manifestName)

var manifestFiles = list("Manifest/{release}/{manifest}", "List the download links of a manifest", releaseOf, manifestName)

var manifestList = list("ManifestList/{release}", "List the manifests of a release", releaseOf)

func list(path, summary string, inputs ...service.Input) *service.Operation {
	op := get(path, summary, listFormats, inputs...)
	op.XML = service.ListXML
	return op
}

func get(path, summary string, formats []string, inputs ...service.Input) *service.Operation {
	op := &service.Operation{
		Name: service.NameOf(path), Path: path, Summary: summary,
		Methods: service.GetOnly, Formats: formats, Query: "format", AnyShape: true,
		Fields: service.Fields{Inputs: inputs},
	}
	if formats == nil {
		op.Formats, op.Query = fileFormat, ""
	}
	return op
}

// The classes of files, with the path segments that identify a file besides its release.
var classes = []struct {
	name, what string
	inputs     []service.Input
	file       service.Input
}{
	{"Library", "a binary file", []service.Input{operatingSystem, compiler, architecture}, fileName},
	{"Data", "a data file", nil, fileName},
	{"Interface", "a language interface file", []service.Input{operatingSystem, language, architecture}, fileName},
	{"Product", "a product file", nil, productName},
}

const (
	withRelease    = true
	withoutRelease = false
)

func perClass(verb, summary string, released bool, formats []string) []*service.Operation {
	var operations []*service.Operation
	for _, class := range classes {
		inputs := append([]service.Input(nil), class.inputs...)
		if released {
			inputs = append(inputs, releaseOf)
		}
		inputs = append(inputs, class.file)
		path := verb + "/" + class.name
		for _, in := range inputs {
			path += "/{" + in.Name + "}"
		}
		if verb == "{hashtype}" {
			inputs = append([]service.Input{hashType}, inputs...)
		}
		if released {
			inputs = append(inputs, tag)
		}
		op := get(path, summary+" "+class.what, formats, inputs...)
		if verb == "Releases" {
			op.XML = service.ListXML
		}
		if verb == "Download" {
			op.Note = "The content is not checked against its hash: `syncd get` does that."
		}
		operations = append(operations, op)
	}
	return operations
}
