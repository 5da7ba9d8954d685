package releases

import "syncd/internal/clients/service"

// Operations describes the twenty operations of SPEC.md, section "File release
// service", for callers that work by name. The mirror uses Client.
func Operations() []*service.Operation {
	operations := []*service.Operation{browse}
	operations = append(operations, perClass("Download", "The file, followed through the service's redirects and unproven: `syncd get` proves it", withRelease, nil)...)
	operations = append(operations, perClass("Releases", "All releases (YYYY.MM) of", withoutRelease, listFormats)...)
	operations = append(operations, manifestReleases, manifestFiles, manifestList)
	operations = append(operations, perClass("Metadata", "Metadata of", withRelease, objectFormats)...)
	return append(operations, perClass("{hashtype}", "Hash, of the type given by hashtype, of", withRelease, listFormats)...)
}

// Formats of lists and hashes, and of metadata.
var (
	listFormats   = []string{"json", "xml", "crLfList", "lfList", "comma", "tab"}
	objectFormats = []string{"json", "xml"}
	anyFormat     = []string{"file"} // for what has a format of its own
)

// Inputs of paths.
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
	tag             = service.Input{Name: "tag", Query: "tag", Kind: service.Text, Means: "a variant of the file, for an older runtime, say"}
)

func segment(name, means string) service.Input {
	return service.Input{Name: name, Kind: service.Segment, Required: true, Means: means}
}

var browse = &service.Operation{
	Name: "Browse", Summary: "The page on which releases and manifests are chosen",
	Methods: service.GetOnly, Formats: anyFormat, Text: true,
	Fields: service.Fields{Inputs: []service.Input{
		{Name: "mft", Query: "mft", Kind: service.Text, Means: "manifest"},
		{Name: "release", Query: "release", Kind: service.Text},
		{Name: "sort", Query: "sort", Kind: service.Text, Means: "fileName, size, release, type, os, compiler or architecture; with a d in front, descending"},
	}},
}

var manifestReleases = list("ManifestReleases/{manifest}", "All releases (YYYY.MM) of a manifest", manifestName)

var manifestFiles = list("Manifest/{release}/{manifest}", "Download links of the files of a manifest for a release", releaseOf, manifestName)

var manifestList = list("ManifestList/{release}", "The manifests that are available for a release", releaseOf)

func list(path, summary string, inputs ...service.Input) *service.Operation {
	return get(path, summary, listFormats, inputs...)
}

func get(path, summary string, formats []string, inputs ...service.Input) *service.Operation {
	op := &service.Operation{
		Name: service.NameOf(path), Path: path, Summary: summary,
		Methods: service.GetOnly, Formats: formats, Query: "format", Text: true,
		Fields: service.Fields{Inputs: inputs},
	}
	if formats == nil {
		op.Formats, op.Query = anyFormat, ""
	}
	return op
}

// The classes of files with what addresses one, but for the release.
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

// perClass is one operation for each class of files.
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
		what := summary + " " + class.what
		if verb == "Download" {
			what = summary
		}
		operations = append(operations, get(path, what, formats, inputs...))
	}
	return operations
}
