//go:build !race

package states_test

const isRaced = false
