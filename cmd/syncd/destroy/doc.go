// Package destroy has the commands that destroy releases for good, and list what was
// destroyed.
package destroy
