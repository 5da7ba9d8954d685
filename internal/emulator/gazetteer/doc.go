// Package gazetteer holds the invented world of the emulator: two counties with
// their streets, houses, owners, deeds and businesses.
//
// The world is the same in every process: it is the tables in world/. Except for the
// states, nothing in it is real.
package gazetteer
