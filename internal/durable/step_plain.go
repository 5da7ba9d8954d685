//go:build !torture

package durable

func step(_, _ string, change func() error) error { return change() }
