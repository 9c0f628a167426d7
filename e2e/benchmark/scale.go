// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
)

// parseScale parses "1" or "true", which keep the defaults of all quantities, or quantities that differ from them:
// "machines=300,watch=20s". Each quantity is a number or a duration, and must be greater than 0.
func parseScale(text string, quantities *flag.FlagSet) error {
	if text == "1" || text == "true" {
		return nil
	}
	for _, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := quantities.Set(name, value); err != nil {
			var names []string
			quantities.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
			return fmt.Errorf("reading %q, which must be one of %s with a value: %w", part, strings.Join(names, ", "), err)
		}
		if reflect.ValueOf(quantities.Lookup(name).Value.(flag.Getter).Get()).Int() <= 0 {
			return fmt.Errorf("reading %q: %s must be greater than 0", part, name)
		}
	}
	return nil
}
