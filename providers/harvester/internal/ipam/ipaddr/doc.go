// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipaddr computes with addresses: which of them the ranges of an IPPool have, as Harvester's load balancer completes them, which one is
// next in turn, and which are in a set. Nothing is as large as a subnet is, whose addresses may be more than can be counted.
package ipaddr
