// Package value parses the single values of the configuration file: durations, rates,
// addresses, names, modes. Each parser takes the text of a value and returns the value, or a
// fault that says what is wrong and what to write instead. All are safe for concurrent use.
//
// A fault never holds the input, nor an error of the standard library, which quotes the
// input: by mistake it may be a secret. The exception is a number that is too short for one.
package value
