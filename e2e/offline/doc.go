// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package offline and its subfolders are only for machines that reach a proxy for Go modules and Debian's packages, and nothing else.
// On such a machine images cannot be pulled, so they are built:
//
//   - build, programs: third-party programs, built from Go modules
//   - NodeImages: the node image of a kind cluster, from Debian packages and those programs
//   - CertManagerManifest: cert-manager's manifest, from the chart in its module
//   - Engine: a Docker engine, if none runs, started without systemd, and with cmd/bounded-runc for hosts without the full set of
//     capabilities
//   - cmd/pause: the program that keeps the namespaces of a pod open
//
// Missing Debian packages are installed only with FAULTLINE_INSTALL=1 or CI=true.
//
// Other machines use only the programs: tool.Source decides, and published images have priority.
package offline
