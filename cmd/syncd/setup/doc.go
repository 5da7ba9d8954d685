// Package setup asks for what a first configuration needs, and writes it: `syncd setup`.
package setup
