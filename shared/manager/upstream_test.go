// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestIgnoredFlagsAndGates(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		told   []string
		refuse string
	}{
		{name: "nothing given"},
		{
			name: "a flag and gates", args: []string{"--old=1", "--feature-gates=B=true,A=false"},
			told: []string{`"level"=0 "msg"="Flag has no effect" "flag"="--old" "why"="gone"`,
				`"level"=0 "msg"="Feature gate has no effect" "gate"="A" "value"=false "why"="first"`,
				`"level"=0 "msg"="Feature gate has no effect" "gate"="B" "value"=true "why"="second"`},
		},
		{name: "an unknown gate", args: []string{"--feature-gates=C=true"}, refuse: `unknown feature gate "C": remove it`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			o, fs, told := &Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError), []string(nil)
			o.AddFlags(fs)
			o.Ignore(fs, Ignored{Name: "old", Why: "gone"}, Ignored{Name: "older", Why: "gone, too"})
			o.Gates(fs, nil, Ignored{Name: "A", Why: "first"}, Ignored{Name: "B", Why: "second"})
			err := fs.Parse(tc.args)
			if tc.refuse != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.refuse)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			o.logIgnored(funcr.New(func(_, args string) { told = append(told, args) }, funcr.Options{}))
			g.Expect(told).To(Equal(tc.told))
		})
	}
}

func TestEnabledGates(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--feature-gates=Acts=true": true, "--feature-gates=Acts=false": false, "--feature-gates=AllAlpha=true": true,
		"--feature-gates=AllAlpha=true,Acts=false": false, "--feature-gates=Other=true": false,
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			o, fs, told := &Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError), []string(nil)
			o.AddFlags(fs)
			g.Expect(o.Enabled("Acts")).To(BeFalse(), "there are no gates")
			o.Gates(fs, []Gate{{Name: "Acts", Does: "does it"}}, Ignored{Name: "Other", Why: "nothing"})
			g.Expect(fs.Parse(strings.Fields(args))).To(Succeed())
			o.logIgnored(funcr.New(func(_, args string) { told = append(told, args) }, funcr.Options{}))
			g.Expect(o.Enabled("Acts")).To(Equal(want))
			if strings.Contains(args, "Other") {
				g.Expect(told).To(HaveLen(1))
			} else {
				g.Expect(told).To(BeEmpty())
			}
		})
	}
}
