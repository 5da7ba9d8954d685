// Package httpserver runs the two HTTP servers of syncd, the status page and that for
// followers. It bounds connections, requests and checks of passwords, checks the name
// in Host, and takes TLS and passwords from the exporter-toolkit file that the
// configuration names. Its handler makes the answers.
//
// The bounds keep hostile clients from taking file descriptors, memory or CPU from a
// sync. The limit on requests stands behind authentication and does not count health
// checks. The limit on password checks stands before it and lets known clients pass.
// The server speaks HTTP/1.1 only: strangers could keep hundreds of requests waiting on
// each connection of HTTP/2.
package httpserver
