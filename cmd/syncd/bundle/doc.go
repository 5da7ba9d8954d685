// Package bundle has the commands that carry a mirror on a disk: `syncd bundle`.
package bundle
