// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docker is what e2e asks of Docker, through its command line, which people can repeat by hand from the log; and the images that are
// made of files, without a registry to build on: those of programs, of machines, and of the simulators that run machines as containers.
package docker
