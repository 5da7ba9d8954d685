// Package upload writes what is served to the bucket of the configuration in force, and
// remembers the outcome of the last attempt. Package downstream/publisher has the steps of one
// publication.
package upload
