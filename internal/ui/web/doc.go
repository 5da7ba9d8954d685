// Package web makes the answers with metrics, health, the API and the status page.
//
// The server renders all HTML from one template, without inline style or script. The
// Content-Security-Policy allows only /assets/. A script polls /api/v1/status every 2 s
// and fetches the page again when something changed.
package web
