// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bounded

// frames finds the ends of the events in a watch response.
type frames interface {
	// after processes the next part of the response. It reports whether an event ended in it, and the number of bytes after the
	// last end.
	after(part []byte) (rest int64, ended bool)
}

// texts splits a sequence of JSON values.
type texts struct {
	depth           int
	quoted, escaped bool
}

func (t *texts) after(part []byte) (rest int64, ended bool) {
	for i, c := range part {
		switch {
		case t.escaped:
			t.escaped = false
		case t.quoted:
			t.escaped, t.quoted = c == '\\', c != '"'
		case c == '"':
			t.quoted = true
		case c == '{', c == '[':
			t.depth++
		case c == '}', c == ']':
			if t.depth--; t.depth <= 0 {
				t.depth, rest, ended = 0, int64(len(part)-i-1), true
			}
		}
	}
	return rest, ended
}

// lengths splits a sequence of values that are each prefixed with their length in four bytes.
type lengths struct {
	head, length, left uint32
}

func (l *lengths) after(part []byte) (rest int64, ended bool) {
	for len(part) > 0 {
		read := uint32(1)
		if l.left > 0 {
			read = uint32(min(int64(l.left), int64(len(part)))) //nolint:gosec // at most left
			l.left -= read
		} else {
			l.length = l.length<<8 | uint32(part[0])
			if l.head++; l.head < 4 {
				part = part[1:]
				continue
			}
			l.head, l.left, l.length = 0, l.length, 0
		}
		if part = part[read:]; l.left == 0 {
			rest, ended = int64(len(part)), true
		}
	}
	return rest, ended
}
