package serve

import (
	"fmt"
	"net/http"
)

// typeProblem is an error in the shape that endpoints of manifests use.
func typeProblem(kind, message string) []byte {
	b := appendJSON([]byte(`{"type":`), kind)
	b = appendJSON(append(b, `,"message":`...), message)
	return append(b, `,"more_info":"the documentation of the service"}`...)
}

// titleProblem is an error in the shape that endpoints of files use.
func titleProblem(status int, field, message string) []byte {
	b := fmt.Appendf(nil, `{"type":"https://httpstatuses.io/%d","title":`, status)
	b = appendJSON(b, message)
	b = fmt.Appendf(b, `,"status":%d,"errors":{%q:[`, status, field)
	b = appendJSON(b, message)
	return fmt.Appendf(b, `]},"traceId":"00-%016x-00"}`, status)
}

func (a *answer) problem(status int, body []byte) { a.reply(status, jsonType, body) }

// notFound answers 404 as endpoints of manifests do.
func (a *answer) notFound(kind, noun string) {
	a.problem(http.StatusNotFound, typeProblem(kind, "There is no such "+noun+"."))
}

// noFile answers 404 as endpoints of files do.
func (a *answer) noFile() {
	a.problem(http.StatusNotFound, titleProblem(http.StatusNotFound, "filename", "There is no such file in this release."))
}

// unknownEndpoint answers an unknown first segment. A class behind it makes it an unknown
// hash type.
func (a *answer) unknownEndpoint(args []string) {
	if len(args) > 0 && classOf(args[0]) != "" {
		a.problem(http.StatusBadRequest, typeProblem("invalidHashType", "The hash type is not known."))
		return
	}
	a.reply(http.StatusNotFound, "", nil)
}
