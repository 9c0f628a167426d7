// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"flag"
	"fmt"
	"strings"
)

// ReadScale parses "1" or "true", which keep the defaults, or quantities that differ from them: "machines=300,watch=20s".
func ReadScale(text string, quantities *flag.FlagSet) error {
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
	}
	return nil
}
