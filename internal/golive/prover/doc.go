// Package prover asks consumers about what went live, and takes back what they do not work
// with. Package probe has the question and keeps the verdicts; the tree begins a trial with
// each swap.
package prover
