// Package gazetteer holds the invented world of the emulator: two counties with
// their streets, houses, owners, deeds and businesses.
//
// The world is the same in every process: it comes from a plan of the streets,
// lists of words and a fixed seed. Except for the states, nothing in it is real.
package gazetteer
