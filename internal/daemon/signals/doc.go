// Package signals keeps the signals of `syncd run` from its first moment on. By default
// SIGHUP ends a process, and SIGUSR1 is lost. Initialising all packages takes some 10 ms,
// so this package does not wait for main.
//
// It imports nothing but os and syscall, and is therefore among the first packages that
// the runtime initialises. Before that, for about 1 ms, the defaults hold.
package signals
