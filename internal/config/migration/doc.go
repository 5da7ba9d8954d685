// Package migration turns command lines of the provider's updater into a configuration of
// syncd that does the same. It starts nothing: it reads shell text, and follows variables,
// functions and loops as far as the text itself sets them.
//
// Licences in the text reach neither the configuration nor an error. Of values that it
// does not understand, only the line number is told.
package migration
