//go:build !linux

package buckettest

import "syscall"

func endWithTest() *syscall.SysProcAttr { return nil }
