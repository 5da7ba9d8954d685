// Package downstream has the end-to-end tests of hosts that follow another one or a bucket,
// and of their monitoring.
package downstream
