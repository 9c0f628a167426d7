// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipaddr computes with addresses: which addresses the ranges of an IPPool contain after completion as in Harvester's load
// balancer, which one is next, and which are in a set. No data structure grows with the size of a subnet, which may have more addresses
// than an int64 can count.
package ipaddr
