package buckettest

import "syscall"

// endWithTest ends the server when the test is killed.
func endWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
