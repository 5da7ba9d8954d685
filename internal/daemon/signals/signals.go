package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// Pending are the signals that ask the daemon for work. A channel holds a value while
// its signal waits. One that waits covers further ones, so none is lost. Each signal has
// a channel of its own: a burst of one fills its channel, and the runtime then drops
// every further signal for it.
type Pending struct {
	Sync, Reload <-chan os.Signal // SIGUSR1, SIGHUP
}

// The channels exist before main, see the package's comment.
var sync, reload = early(os.Args)

func early(args []string) (sync, reload chan os.Signal) {
	sync, reload = make(chan os.Signal, 1), make(chan os.Signal, 1)
	if len(args) > 0 && isRun(args[1:]) {
		catch(sync, reload)
	}
	return sync, reload
}

// catch takes the signals from their defaults for good: they may arrive until the
// process's last moment.
func catch(sync, reload chan os.Signal) {
	signal.Notify(sync, syscall.SIGUSR1)
	signal.Notify(reload, syscall.SIGHUP)
}

// Catch returns the signals that have arrived since the start, and those that follow.
func Catch() Pending {
	catch(sync, reload)
	return Pending{Sync: sync, Reload: reload}
}

// isRun is true when the arguments are those of `syncd run`. Other commands end on
// SIGHUP, as usual.
func isRun(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return false
		case arg == "--config":
			i++ // its value
		case arg == "" || arg[0] != '-':
			return arg == "run"
		}
	}
	return false
}
