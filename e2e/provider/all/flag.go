// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package all

import (
	"flag"
	"strings"
)

// Flag defines the flag -provider, which says what a command is about. It is vSphere by default.
func Flag(flags *flag.FlagSet, about string) *Provider {
	chosen, _ := Named("vsphere")
	flags.Func("provider", about+": "+strings.Join(Names(), " or ")+" (default vsphere)", func(name string) (err error) {
		chosen, err = Named(name)
		return err
	})
	return &chosen
}
