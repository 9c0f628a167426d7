// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import "regexp"

// attempts lists the parts of a network error's text that differ between attempts that fail in the same way, and their
// replacements.
var attempts = []struct { //nolint:gochecknoglobals // never changed
	part *regexp.Regexp
	left string
}{
	// The local port, and the address to which a name resolves: "read tcp 10.0.0.5:43210->10.0.0.9:443", "dial tcp
	// [fd00::9]:443".
	{regexp.MustCompile(`\b((?:dial|read|write) (?:tcp|udp)[46]?) [^\s>]*:\d+(?:->[^\s>]*:\d+)?`), "$1"},
	// The end of the last attempt of a client that repeats requests: it depends on when the deadline is. The one before shows the cause.
	{regexp.MustCompile(`(?:context deadline exceeded|client rate limiter [^"]*?|(?:dial|read|write) (?:tcp|udp)[^"]*?|(?:unexpected )?EOF)` +
		` - error from a previous attempt: `), ""},
	// The request within an HTTP/2 connection.
	{regexp.MustCompile(`; LastStreamID=\d+`), ""},
	{regexp.MustCompile(`\bstream ID \d+; `), ""},
	// The current time, next to the time at which a certificate becomes valid or expires.
	{regexp.MustCompile(`\bcurrent time \S+ is (after|before)\b`), "now is $1"},
}

// Steady normalizes the text of a network error, so that every attempt that fails in the same way has the same text. A text in a
// status is written to every object that shows it, and each write triggers all watchers. The address of the server is removed, so
// the caller must name the server.
func Steady(text string) string {
	for _, differs := range attempts {
		text = differs.part.ReplaceAllString(text, differs.left)
	}
	return text
}

// SteadyError returns an error with the normalized text that wraps err.
func SteadyError(err error) error {
	if err == nil {
		return nil
	}
	text := Steady(err.Error())
	if text == err.Error() {
		return err
	}
	return &steady{text: text, err: err}
}

type steady struct {
	text string
	err  error
}

func (s *steady) Error() string { return s.text }
func (s *steady) Unwrap() error { return s.err }
