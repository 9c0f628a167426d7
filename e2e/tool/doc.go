// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tool has what the programs of e2e are made with: flags and errors in our words, commands that are logged, locks between processes,
// where programs of others come from and how they are built, and the port on which simulators take orders. It imports the standard library
// only, because tests need what is built with it before anything else is compiled.
package tool
