// Package property is the client of the property service; the wire facts are in
// docs/wire/property.md. Amounts, dates, counts and flags stay text, because the
// service promises neither their form nor their presence. Most of the package
// lists the members of records, about five hundred, as fields.
package property
