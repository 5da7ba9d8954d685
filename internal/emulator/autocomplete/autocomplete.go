package autocomplete

import (
	"slices"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// The base paths of the operations.
const (
	Path      = "/autocomplete/web"
	JSONPPath = "/autocomplete/jsonp"
)

// New returns the service at Path.
func New(cfg service.Config) *service.Service {
	return &service.Service{Path: Path, CustomerID: cfg.CustomerID, Operations: completer{cfg.World}.operations()}
}

// NewJSONP returns the service at JSONPPath.
func NewJSONP(cfg service.Config) *service.Service {
	s := New(cfg)
	s.Path, s.Write = JSONPPath, writeJSONP
	return s
}

// completer has the operations over a world.
type completer struct{ world *gazetteer.World }

func (w completer) operations() map[string]service.Operation {
	return map[string]service.Operation{
		"GlobalExpressAddress": operation(w.address,
			"address1", "address2", "locality", "administrativearea", "postalcode",
			"maxrecords", "nativecharset", "diacriticreplace", "cols", "opt", "suitecompression"),
		"GlobalExpressFreeForm": operation(w.freeForm,
			"ff", "maxrecords", "nativecharset", "diacriticreplace", "cols", "opt", "suitecompression",
			"filterterm", "filterlist", "sorttype"),
		"GlobalExpressLocalityAdministrativeArea": operation(w.locality,
			"locality", "administrativearea", "postalcode", "maxrecords", "nativecharset", "diacriticreplace"),
		"GlobalExpressPostalCode":   operation(w.postalCode, "postalcode", "maxrecords", "diacriticreplace"),
		"GlobalExpressThoroughfare": operation(w.thoroughfare, "postalcode", "thoroughfare", "maxrecords", "diacriticreplace"),
		"GlobalExpressCountry":      countryOperation(),
	}
}

func operation(handle func(*service.Call), names ...string) service.Operation {
	op := service.Operation{
		Methods: service.OnlyGet, Inputs: []service.Input{{Query: "country"}, {Query: "callback"}},
		Codes: "ResultCode", Text: "ErrorString", UnknownID: "GE09", Handle: handle,
		Response: response("ResponseGlobal", "ResultGlobal"),
	}
	for _, name := range names {
		op.Inputs = append(op.Inputs, service.Input{Query: name})
	}
	return op
}

func response(root, item string) wire.Document {
	return wire.Document{Root: root, Schema: true, Members: wire.Fields{
		{"Version", "9.0.0.9001"}, {"ResultCode", ""}, {"ErrorString", ""}, {"Results", wire.List{Item: item}},
	}}
}

// domestic are the names of the only country that the world has addresses in. It
// is the default.
var domestic = []string{"", "us", "usa", "840", "united states", "united states of america"}

func isDomestic(c *service.Call) bool {
	return slices.Contains(domestic, strings.ToLower(c.Value("country")))
}
