package store

// initialMap is nothing: on Windows, bbolt makes the file as long as its mapping.
const initialMap = 0
