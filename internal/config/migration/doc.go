// Package migration turns command lines of the provider's updater into a configuration of
// syncd that does the same. It starts nothing: it reads crontabs, scripts, tasks, units and
// compose files, and follows variables, functions, loops and called scripts as far as the
// texts themselves set them. It writes a comment for everything that it leaves out.
//
// Kept libraries parse shell text, XML, units and YAML. For the Windows command prompt and
// PowerShell there are none in Go: the package reads the few forms that scripts around the
// updater use, and notes lines that it cannot follow.
//
// Licences in the text reach neither the configuration nor an error. Of values that it
// does not understand, only the line number is told.
package migration
