// Package states visits what a crash can leave of a piece of work.
//
//   - Record runs a command under strace and returns its Trace: each change of a folder, with
//     names, inodes and bytes, and what each sync covers. It needs no hook in the program, and
//     fails when the calls do not explain what the folder has in the end.
//   - A change is pending until a sync that began after it has ended. At a crash, each pending
//     change is kept or lost, as far as the kind of file system allows: see System.
//   - Trace.Each enumerates the images: what a disk has after a crash, as its readers see it.
//     Names and blocks that nothing leads to are not looked at, so images with the same Key are
//     one state.
//   - Image.Write lays one out, and a Judge says whether something is lost. A Judge takes any
//     data directory, also one that came from elsewhere.
//   - Trace.Mutants are traces of programs with a fault: the checker itself is tested with them.
//
// The program never imports this package.
package states
