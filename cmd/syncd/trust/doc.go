// Package trust makes keys and trust texts, signs with them and checks signatures: `syncd
// trust`. It needs no configuration and no network.
package trust
