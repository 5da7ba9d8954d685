// Package secrets holds what no command of the operator may have, and what is taken out of the
// texts that commands print: the Customer IDs of all sources, and the keys of buckets.
package secrets
