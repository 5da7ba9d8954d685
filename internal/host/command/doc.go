// Package command runs a command of the operator and leaves nothing behind. When the
// command ends, at its timeout, and when this process dies, everything that the command
// started is killed, whatever process group or session it moved to. The same holds when
// only the supervisor is killed.
//
// A supervisor does that: this program, started again. Orphans become its children
// (PR_SET_CHILD_SUBREAPER). It holds one end of a pipe, and kills all once the other
// end, which only the caller has, is closed. The kernel closes it when the caller is
// killed.
//
// The command can belong to another user than the one whose terminal syncd runs on. So
// supervisor and command have sessions of their own, without a terminal, and neither this
// process nor the supervisor can be traced by other programs of their user. Other work that
// this program does in a process of its own begins in the same way: see StartSelf.
//
// main must therefore call Supervise first if IsSupervisor is true.
package command
