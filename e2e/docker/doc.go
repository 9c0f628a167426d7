// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docker runs Docker through its command line, so that users can repeat commands from the log. It also builds images from files,
// without a registry for base images: images of programs, of machines, and of the simulators that run machines as containers.
package docker
