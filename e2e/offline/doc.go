// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package offline and the folders below it are there for one kind of machine only: one that reaches a proxy for Go modules and
// Debian's packages, and nothing else. There Kubernetes and etcd cannot be downloaded and no image can be pulled, so they are made:
//
//   - build, programs: what is published elsewhere, built from Go modules
//   - NodeImages: the node of a kind cluster, of Debian packages and those programs
//   - CertManagerManifest: cert-manager's manifest, from the chart in its module
//   - Engine: a Docker engine where none runs, started without systemd, if need be with cmd/bounded-runc on a host that may not
//     give away every capability
//   - cmd/pause: what holds the namespaces of a pod open
//
// Debian packages that are missing are installed only on a machine that asks for it, with FAULTLINE_INSTALL=1 or CI=true.
//
// On any other machine nothing of this is used: tool.Source decides, and published programs and images come first.
package offline
