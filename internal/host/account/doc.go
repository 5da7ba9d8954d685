// Package account finds the users that syncd runs as, with their own groups, and does
// work with the permissions of another user, on a thread of its own.
package account
