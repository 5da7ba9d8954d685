// Package demo is the command that shows a mirror at work without configuration.
package demo
