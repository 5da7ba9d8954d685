// Package emulator plays the provider over real TCP, with faults on demand and a
// log of all requests. The release service and its download host have a listener
// each. The other five services share the listener of the release service. They
// answer from one invented world, so that their answers agree.
//
// Tests, benchmarks and the commands emulator and demo use it. A change of the
// catalogue or of the faults takes effect for the next request. A download hashes
// neither files on disk nor random contents. Close leaves no goroutine behind. The
// endpoints below /-/ need no Customer ID, so the emulator belongs on loopback.
//
// A package below holds each service: releases over catalogue, the others over
// gazetteer. To add a service, make it with the package service and name it in
// Emulator.services: observe gives it the request log and the faults.
package emulator
