// Package prometheus holds the alert rules that syncd ships.
package prometheus

import _ "embed"

// Rules is the file syncd.rules.yml.
//
//go:embed syncd.rules.yml
var Rules []byte
