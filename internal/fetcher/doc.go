// Package fetcher downloads files from the provider into a folder of unfinished
// downloads. A file is hashed while it arrives, in one pass and with constant memory.
// An interrupted download continues where it stopped, in this process or the next.
// Fetch returns a file only when it has the expected digest.
//
// A large file is durable when Fetch returns. A small one is not, because it is cheaper
// to sync many of them together: see verify.Proven.
//
// A download owns its partial file and its connections. A connection owns its segment, a
// range of bytes, and the response body.
//
// # Hashing
//
// The hasher hashes bytes in file order while they are still in memory. Up to four
// buffers of a file wait for it. If it lags further behind, connections that share a
// file do not wait: the hasher reads their bytes back from the file later. A single
// connection waits, so that nothing is read twice.
//
// # Packs
//
// A source may have many small contents in one answer. FetchPack gives them out one after
// the other, from memory, and Keep writes each to a file of its own: no request, response or
// goroutine is made for one. Whatever is wrong with a pack, its contents are left to Fetch.
//
// # Buffers
//
// A read over TLS brings 16 KiB at most, too few to write and hash by themselves. A
// gatherer reads a large body into buffers of 1 MiB while the connection stores earlier
// ones. After 20 ms it hands over what has arrived, so that a slow link shows progress
// and a kill loses little. A slow connection uses buffers of 64 KiB, and so does each
// connection when 16 large ones are in use: memory is bounded, and nothing waits for a
// buffer. Small files are read and stored without a gatherer.
//
// # Segments
//
// A file of 16 MiB or more with a strong ETag may use several connections. The
// controller measures the rate every 200 ms and keeps as many connections as the rate
// grew by. It adds none from 100 MiB/s on. A segment is 4 to 64 MiB, long enough to
// make its request cheap. Each segment has a TCP connection of its own, because
// segments on a shared connection would share what the provider allows it. If a segment
// fails, only its worker stops, and the main connection fetches the range.
//
// Large files and segments share one budget of connections, the larger of
// transfers.files and transfers.segments. A worker returns its connection after each
// segment, and files go first. A file never waits for a connection, because those in
// use may hardly move. Small files need none of the budget.
//
// # Resume
//
// A 206 response is accepted only if its range, size and validator match the partial
// file. A partial file of 1 MiB or more has a .validator file beside it, with the ETag
// or date of its content. Without gaps, the size of the partial file tells which bytes
// arrived. With gaps, the .validator file lists them and is rewritten every 4 MiB. The
// next process hashes the partial file again, so bytes lost in a power cut are found.
//
// # Durability
//
// The kernel starts to write cached bytes back every 8 MiB, so that the final fsync is
// short. A file whose write or fsync failed is removed, never retried.
package fetcher
