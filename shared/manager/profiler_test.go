// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestProfilerAddress(t *testing.T) {
	t.Setenv("PROFILER_ADDR", "")
	for address, local := range map[string]bool{
		"": true, "0": true, "localhost:6060": true, "127.0.0.1:0": true, "[::1]:6060": true, "127.1.2.3:6060": true,
		":6060": false, "0.0.0.0:6060": false, "[::]:6060": false, "10.0.0.1:6060": false, "localhost.example.com:6060": false, "6060": false,
	} {
		for _, wanted := range []bool{false, true} {
			g := NewWithT(t)
			o, flags := &Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
			o.AddFlags(flags)
			args := []string{"--profiler-address=" + address}
			if wanted {
				args = append(args, "--insecure-profiler")
			}
			g.Expect(flags.Parse(args)).To(Succeed())
			if local || wanted {
				g.Expect(o.checkProfiler()).To(Succeed(), address)
				continue
			}
			g.Expect(o.Run(t.Context(), Provider{})).To(MatchError(And(ContainSubstring(address), ContainSubstring("--insecure-profiler"))))
		}
	}
}
