// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Quantity is a part of what says how much a benchmark is about.
type Quantity struct {
	Name string
	set  func(value string) error
}

// Number is a whole number.
func Number(name string, to *int) Quantity {
	return Quantity{name, func(value string) (err error) {
		*to, err = strconv.Atoi(value)
		return err
	}}
}

// Duration is a time, as in 30s.
func Duration(name string, to *time.Duration) Quantity {
	return Quantity{name, func(value string) (err error) {
		*to, err = time.ParseDuration(value)
		return err
	}}
}

// ReadScale reads "1" or "true", which change nothing, or what differs from what the quantities are: "machines=300,watch=20s".
func ReadScale(text string, quantities ...Quantity) error {
	if text == "1" || text == "true" {
		return nil
	}
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := setQuantity(quantities, name, value); err != nil {
			return fmt.Errorf("reading %q: %w", part, err)
		}
	}
	return nil
}

func setQuantity(quantities []Quantity, name, value string) error {
	var names []string
	for _, quantity := range quantities {
		if quantity.Name == name {
			return quantity.set(value)
		}
		names = append(names, quantity.Name)
	}
	last := len(names) - 1
	return fmt.Errorf("it is none of %s and %s", strings.Join(names[:last], ", "), names[last])
}
