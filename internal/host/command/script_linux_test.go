package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAScriptThatTheKernelCannotStartIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "check")
	for text, want := range map[string]string{
		"#!/bin/sh\nexit 0\n":         "",
		"#! /usr/bin/env sh\n":        "",
		"#!/bin/sh":                   "",
		"":                            "",
		"\x7fELF\x00":                 "",
		"#!/bin/sh\r\nexit 0\r\n":     "line ends of Unix",
		"#!/usr/bin/env sh\r\n":       "line ends of Unix",
		"#!/nonexistent/sh -e\n":      `interpreter "/nonexistent/sh" cannot be run: no such file`,
		"#!/dev/null\nexit 0\n":       "permission denied",
		"#!\nexit 0\n":                "names no interpreter",
		"exit 0\n":                    "names no interpreter",
		"\xef\xbb\xbf#!/bin/sh\nexit": "names no interpreter",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		err := CheckScript(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && !strings.Contains(text, "env") { // env starts, and ends with 127
			run := Command{Argv: []string{path}}.Run(t.Context())
			if run == nil || !strings.Contains(run.Error(), err.Error()) {
				t.Errorf("%q: Run says %v, CheckScript %v", text, run, err)
			}
		}
	}
}
