// Package testclient sends requests to the emulated services in their tests.
package testclient
