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
	chosen := all.Flag[benchmark.Provider](flags, "infrastructure provider to measure")
	flags.Func("machines", "comma-separated numbers of machines to make at once (default: those of the aims)", func(value string) (err error) {
		options.Machines, err = numbers(value)
		return err
	})
	flags.StringVar(&options.Scale, "scale", "", "measure what is large in place of everything else: 1, for vsphere, is 2,000 machines "+
		"beside 10,000 virtual machines of others, for metal3 500 workers and the control planes of 1,000 clusters that are spread over failure "+
		"domains, for harvester 200 machines that are watched at rest for 10 minutes; or what differs from that, as "+
		"machines=300,foreign=2000,watch=20s,outage=30s, clusters=100,workers=50,watch=10s and machines=50,watch=1m")
	manager := flags.String("manager", "", "`program` to measure in the place of our manager: another one for the same kinds, or a script "+
		"that translates the arguments of ours for it")
	release := flags.String("release", "", "kustomize `folder` of that manager's release, with its CRDs, roles and Deployment")
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
		return nil, errors.New("--manager and --release go together: a program, and the folder of what it needs")
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
			return nil, errors.New("they are whole numbers from 1 on with commas between, such as 1,10,50")
		}
		all = append(all, number)
	}
	return all, nil
}
