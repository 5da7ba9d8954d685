// Package request holds what commands, the API and the schedule ask an engine to
// do. The JSON form is that of the control socket.
package request
