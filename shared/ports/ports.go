// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports reserves ports for programs that receive their port before they start and listen on it later. A port that was
// only found to be free may be taken by then, by another program that listens or by an outgoing connection.
package ports

import "fmt"

// Host is the address whose ports are reserved.
const Host = "127.0.0.1"

// attempts is the maximum number of attempts to find consecutive ports.
const attempts = 100

// Range is a sequence of consecutive ports that are reserved until they are released. Programs that are given one of them can
// listen on it meanwhile, repeatedly.
type Range struct {
	First, Count int
	holds        []hold
}

// hold reserves one port.
type hold interface{ Close() error }

// Reserve reserves count consecutive ports.
func Reserve(count int) (*Range, error) {
	var last error
	for range attempts {
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
		port := 0 // Any port for the first one.
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

// Release releases the ports.
func (r *Range) Release() {
	for _, held := range r.holds {
		_ = held.Close() // Closing a hold loses no data.
	}
	r.holds = nil
}
