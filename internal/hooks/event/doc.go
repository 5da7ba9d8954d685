// Package event holds what hooks are told: the kinds of events, and their form as JSON.
package event
