package main

var here = windows
