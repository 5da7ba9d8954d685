// Package service is the frame of all emulated services except the release
// service. A Service is data: operations with their methods, inputs and blank
// answers. The frame finds the operation, reads the inputs from a query or a
// body, checks the Customer ID and writes the answer.
//
// The clients in internal/clients describe the same services from the other
// side and share no code with this package, so that a mistake in one shows.
package service
