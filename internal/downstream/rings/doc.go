// Package rings knows the hosts that follow this one: which release of each manifest a
// host serves, which it refused, and which it may see. Followers belong to rings. A
// release becomes visible to a ring some time after it went live here, and never if too
// many hosts of an earlier ring refused it.
//
// Reports come from hosts that may be hostile. They are bounded, and grant nothing: a
// host can refuse only a release that it can see.
//
// Everything works in memory. A stop and an operator's decision are saved at once,
// polls every 10 s. Followers tell about themselves in the header Syncd-State, which
// the transport sends only to an origin whose last answer said that it is a syncd, and
// only if the operator named a syncd as the source (config.Report).
package rings
