// Package adopt reads the files of a folder that other programs own, to use those whose
// content is wanted. It never trusts a name or a side file: only the hash of what it
// copied counts. It changes nothing in the folder, unless a file is moved.
//
// The folder may be hostile. Links and files of other kinds are passed over, no link is
// followed out of the folder, and a file that changes meanwhile only gets another hash.
package adopt
