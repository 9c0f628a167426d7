// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package all

import (
	"flag"
	"strings"

	"github.com/faultline-io/faultline/e2e/provider"
)

// Flag defines the flag -provider, which says what a command is about: one that can be used as T says. It is provider.DefaultName by default.
func Flag[T provider.Installed](flags *flag.FlagSet, about string) *T {
	chosen, _ := Named[T](provider.DefaultName)
	flags.Func("provider", about+": "+strings.Join(Names[T](), " or ")+" (default "+provider.DefaultName+")", func(name string) (err error) {
		chosen, err = Named[T](name)
		return err
	})
	return &chosen
}
