// Package batch asks one operation of a service for each row of a file, and writes the
// rows with their answers to another file.
//
// Open reads and checks the whole input before anything is sent: the columns that name
// inputs, and each row. Batch.Run then asks for the rows that have no answer yet, with a
// bounded rate and a bounded number of requests at once.
//
// Each answer is appended to a journal beside the output (journal), in the order in which
// answers arrive, and the output is written in one step when every row has its answer. So a
// process that was killed asks again only for the rows whose requests were in flight. A
// submission in flight is never sent again: its row says that it may have been accepted.
//
// A row that the service refuses has the error in its row. A refused Customer ID, or a
// service that answers no row, stops the batch (judge).
//
// Cells are data: nothing in them is changed, also not a formula of a spreadsheet.
package batch
