// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports reserves ports for programs that are told their port before they start and listen on it later. A port that
// is only looked for may be gone by then: to another program that listens, or to a connection that somebody opens.
package ports

import "fmt"

// Host is the address whose ports are reserved.
const Host = "127.0.0.1"

// tries are made to find ports in a row.
const tries = 100

// Range is a row of ports that nobody else is given until they are released. A program that is told one of them can listen
// on it meanwhile, again and again.
type Range struct {
	First, Count int
	holds        []hold
}

// hold keeps one port.
type hold interface{ Close() error }

// Reserve reserves ports in a row.
func Reserve(count int) (*Range, error) {
	var last error
	for range tries {
		r := &Range{Count: count}
		if last = r.reserve(); last == nil {
			return r, nil
		}
		r.Release()
	}
	return nil, fmt.Errorf("reserving %d ports of %s: %w", count, Host, last)
}

func (r *Range) reserve() error {
	for i := range r.Count {
		port := 0 // Any, for the first.
		if i > 0 {
			port = r.First + i
		}
		held, number, err := reserve(port)
		if err != nil {
			return err
		}
		if i == 0 {
			r.First = number
		}
		r.holds = append(r.holds, held)
	}
	return nil
}

// Release lets go of the ports.
func (r *Range) Release() {
	for _, held := range r.holds {
		_ = held.Close() // What holds a port has nothing to lose.
	}
	r.holds = nil
}
