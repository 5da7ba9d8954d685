// Package browse has the commands that show what the provider has.
package browse
