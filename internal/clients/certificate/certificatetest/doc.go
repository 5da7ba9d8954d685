// Package certificatetest makes certificates for tests.
package certificatetest
