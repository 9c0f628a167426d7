// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runBench runs subcommand bench.
func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := benchmark.Options{Out: stdout, Progress: stderr}
	flags := flag.NewFlagSet("e2e bench", flag.ContinueOnError)
	chosen := all.Flag[benchmark.Provider](flags, "Infrastructure provider to measure")
	flags.Func("machines", "Comma-separated numbers of machines to create at once. Defaults to those that have targets.", func(value string) (err error) {
		options.Machines, err = numbers(value)
		return err
	})
	flags.StringVar(&options.Scale, "scale", "", "Run only the scale benchmark. 1 selects the defaults: for vsphere 2,000 machines "+
		"in addition to 10,000 unrelated virtual machines, for metal3 500 workers and the control planes of 1,000 clusters that are spread over failure "+
		"domains, for harvester 200 machines that are idle for 10 minutes. Other values override defaults, for example "+
		"machines=300,foreign=2000,watch=20s,outage=30s, clusters=100,workers=50,watch=10s or machines=50,watch=1m.")
	manager := flags.String("manager", "", "`Program` to measure instead of Faultline's manager: another manager for the same kinds, or a script "+
		"that translates the arguments of Faultline's manager for it.")
	release := flags.String("release", "", "Kustomize `directory` of that manager's release, with its CRDs, roles and Deployment.")
	err := tool.ParseFlags(flags, args)
	if err != nil {
		return err
	}
	if options.Other, err = another(*manager, *release); err != nil {
		return err
	}
	options.Provider = *chosen
	return benchmark.Run(ctx, options)
}

// another returns the manager to measure instead of ours, or nil. It runs in another folder than this program.
func another(manager, release string) (*provider.OtherManager, error) {
	if manager == "" && release == "" {
		return nil, nil
	}
	if manager == "" || release == "" {
		return nil, errors.New("--manager and --release must be set together")
	}
	program, err := filepath.Abs(manager)
	if err != nil {
		return nil, err
	}
	release, err = filepath.Abs(release)
	return &provider.OtherManager{Program: program, Release: release}, err
}

func numbers(list string) ([]int, error) {
	var all []int
	for _, field := range strings.Split(list, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || number < 1 {
			return nil, errors.New("must be comma-separated integers of 1 or more, for example 1,10,50")
		}
		all = append(all, number)
	}
	return all, nil
}
