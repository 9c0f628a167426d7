//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// checkChoice returns an error if a label filter is invalid, or selects no spec for this provider and these machines. `make e2e` checks
// this in a dry run before it creates a kind cluster.
func checkChoice(suite types.SuiteConfig, reporter types.ReporterConfig) error {
	filter := suite.LabelFilter
	if _, err := types.ParseLabelFilter(filter); err != nil {
		return fmt.Errorf("LABEL=%q must be labels with &&, ||, ! and brackets, for example 'rollout || (disturb && !node)'", filter)
	}
	suite.LabelFilter = applicable(filter)
	report := PreviewSpecs("faultline-e2e", suite, reporter)
	if report.SpecReports.WithLeafNodeType(types.NodeTypeIt).CountWithState(types.SpecStatePassed) > 0 {
		return nil
	}
	machines, other := "machines that boot", "with FAST=1"
	if *fast {
		machines, other = "FAST=1", "without FAST=1"
	}
	return fmt.Errorf("no spec of LABEL=%q is for PROVIDER=%s and %s: see e2e/specs/README.md, or try %s or another PROVIDER", filter, *providerName, machines, other)
}
