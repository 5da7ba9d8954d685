// Package releases is the client of the file release service and its 20 endpoints,
// which docs/wire/releases.md describes. It asks for JSON, but reads every list format
// of the service, because a proxy or an older server may ignore the format parameter.
package releases
