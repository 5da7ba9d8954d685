// Package migration turns command lines of the provider's updater, which package
// commandline finds, into a configuration of syncd that does the same. It writes a comment
// for everything that the configuration leaves out.
//
// Licences in the text reach neither the configuration nor an error. Of values that it
// does not understand, only the line number is told.
package migration
