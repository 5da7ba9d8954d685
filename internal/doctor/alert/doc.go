// Package alert judges Prometheus alerts by one look at the metrics of one program. It
// knows the part of PromQL that looks at one moment: selectors, arithmetic, comparisons,
// set operators with `on`, time() and sum. A rule with a range, such as increase(x[1h]),
// needs Prometheus and is not judged.
package alert
