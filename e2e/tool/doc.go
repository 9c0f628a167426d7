// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tool has building blocks for the programs of e2e: flags with clear errors, logged commands, locks between processes, the
// sources and recipes of third-party programs, and the port on which simulators accept faults. It imports only the standard library,
// because tests need the programs that are built with it before anything else is compiled.
package tool
