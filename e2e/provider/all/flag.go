// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package all

import (
	"flag"
	"strings"

	"github.com/faultline-io/faultline/e2e/provider"
)

// Flag defines the flag -provider, which selects a provider that implements T. The default is provider.DefaultName.
func Flag[T provider.Provider](flags *flag.FlagSet, about string) *T {
	chosen, _ := Named[T](provider.DefaultName)
	flags.Func("provider", about+": "+strings.Join(Names[T](), " or ")+" (default "+provider.DefaultName+")", func(name string) (err error) {
		chosen, err = Named[T](name)
		return err
	})
	return &chosen
}
