// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the Kubernetes commands that the demo and the
// integration tests run. They are built from here because k8s.io/kubernetes
// replaces its staging modules, which `go install pkg@version` refuses.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
