// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/offline/programs"
)

// nodeName is the name of the image. The tag is the version of Kubernetes.
const nodeName = "faultline/node:"

// NodeImages builds images into Docker when their inputs have changed.
type NodeImages struct {
	Docker docker.Docker
	// Programs has the programs of programs.Node by their names.
	Programs map[string]string
	// Kind is the source folder of kind, which has the files of a node.
	Kind string
	// Dir is a folder of the cache.
	Dir string
}

// Node ensures the image of a kind node and returns its name.
func (b NodeImages) Node(ctx context.Context) (string, error) {
	version, err := b.version(ctx)
	if err != nil {
		return "", err
	}
	debian, err := b.debian(ctx)
	if err != nil {
		return "", err
	}
	components, err := b.components(ctx, debian)
	if err != nil {
		return "", err
	}
	files, err := b.files(ctx, version, components[slices.IndexFunc(components, isPause)])
	if err != nil {
		return "", err
	}
	node := docker.Derived{Name: nodeName + version, Base: debian, Files: files, Images: components, Entrypoint: kindEntrypoint}
	return node.Name, node.Ensure(ctx, b.Docker)
}

// version returns the version of Kubernetes that kubeadm reports.
func (b NodeImages) version(ctx context.Context) (string, error) {
	out, err := b.Docker.Runner.Run(ctx, b.Programs[programs.Kubeadm], "version", "--output", "short")
	return strings.TrimSpace(out), err
}
