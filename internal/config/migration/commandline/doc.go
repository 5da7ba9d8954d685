// Package commandline finds the command lines of the provider's updater in what starts it:
// crontabs, scripts, tasks, units and compose files. It starts nothing, and follows
// variables, functions, loops and called scripts as far as the texts themselves set them.
// Commands that it leaves out become notes.
//
// Kept libraries parse shell text, XML, units and YAML. For the Windows command prompt and
// PowerShell there are none in Go: the package reads the few forms that scripts around the
// updater use, and notes lines that it cannot follow.
package commandline
