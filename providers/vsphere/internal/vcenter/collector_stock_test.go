// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !full

package vcenter

import "github.com/faultline-io/faultline/providers/vsphere/simulator"

var present = collector{stock, simulator.WithStockCollector()}
