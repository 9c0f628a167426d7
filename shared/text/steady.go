// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import "regexp"

// attempts find what differs in the text of a network's error from one attempt to the next, although both fail in the same way, and what is
// left of it.
var attempts = []struct { //nolint:gochecknoglobals // never changed
	part *regexp.Regexp
	left string
}{
	// The port of our own end, and the address that a name resolves to: "read tcp 10.0.0.5:43210->10.0.0.9:443", "dial tcp [fd00::9]:443".
	{regexp.MustCompile(`\b((?:dial|read|write) (?:tcp|udp)[46]?) [^\s>]*:\d+(?:->[^\s>]*:\d+)?`), "$1"},
	// Which request of a connection of HTTP/2 it was.
	{regexp.MustCompile(`; LastStreamID=\d+`), ""},
	{regexp.MustCompile(`\bstream ID \d+; `), ""},
	// The clock, beside the time until which or from when on a certificate is valid.
	{regexp.MustCompile(`\bcurrent time \S+ is (after|before)\b`), "now is $1"},
}

// Steady makes the text of a network's error the same for each attempt that fails in the same way. What is shown in a status is written to
// every object that shows it, and wakes all who watch these. The server is named by whoever shows the error.
func Steady(text string) string {
	for _, differs := range attempts {
		text = differs.part.ReplaceAllString(text, differs.left)
	}
	return text
}

// SteadyError is the error with such a text. It wraps err.
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
