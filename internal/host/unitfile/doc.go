// Package unitfile reads a systemd service with its drop-ins, as far as it decides whether
// syncd can work: its environment, credentials, user and sandbox. It asks no running
// systemd and resolves no specifiers (%).
package unitfile
