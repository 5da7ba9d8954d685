package main

var here = macOS
