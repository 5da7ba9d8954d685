// Package call is the command that calls operations of the provider's services.
package call
