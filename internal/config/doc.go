// Package config reads syncd's YAML file into a Config and checks every value.
//
// Load reports all problems of a file at once, each with line, column, key and a next
// step. Errors and warnings never quote the file, because any part of it may be a
// secret. Credential.Read reads the Customer ID, so that commands that do not need the
// ID work without it.
//
// Load does not open the directories and files that the configuration names. The
// packages that use them report problems with them.
package config
