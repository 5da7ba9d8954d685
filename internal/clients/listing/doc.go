// Package listing is the client of the list-retrieval service; the wire facts are
// in docs/wire/list.md. The service has six groups of lists, narrowed by filters.
// Counting is free; samples and pages count against the customer's package. The
// filters and columns of each group are in filters.txt and columns.txt.
package listing
