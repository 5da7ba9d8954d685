// Package doctor has the end-to-end tests of the doctor and of a newcomer's first errors.
package doctor
