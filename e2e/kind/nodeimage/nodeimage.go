// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeimage builds the image of a kind node, and that of a machine which
// boots from it, out of Debian packages and programs built from their modules.
package nodeimage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/kind/docker"
	"github.com/faultline-io/faultline/e2e/kind/image"
)

const (
	// nodeName is completed by the version of Kubernetes.
	nodeName = "faultline/node:"
	// builderPrefix begins the name of a container that an image is committed from.
	builderPrefix = "faultline-image-builder-"
	// containerdTimeout is how long containerd may take to answer in the builder.
	containerdTimeout = 30 * time.Second
)

// Builder builds images into Docker, each only when what it is made of has moved.
type Builder struct {
	Docker docker.Docker
	// Programs are those of binaries.Node, and for a machine kube-vip.
	Programs binaries.Paths
	// Kind is the source folder of kind, which has the files of a node.
	Kind string
	// Dir is a folder of the cache.
	Dir string
}

// Node ensures the image of a kind node and answers its name.
func (b Builder) Node(ctx context.Context) (string, error) {
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
	return nodeName + version, b.commit(ctx, recipe{
		name: nodeName + version, base: debian, files: files, images: components, entrypoint: kindEntrypoint,
	})
}

// version of Kubernetes, as kubeadm says it.
func (b Builder) version(ctx context.Context) (string, error) {
	out, err := b.Docker.Runner.Run(ctx, b.Programs[binaries.Kubeadm], "version", "--output", "short")
	return strings.TrimSpace(out), err
}

// recipe is an image that is committed from a container.
type recipe struct {
	name       string
	base       string
	script     string       // run first, with the host's network
	files      []image.File // added then
	images     []string     // imported into its containerd
	entrypoint string       // as JSON
}

// commit builds the image unless Docker has it, made from the same.
func (b Builder) commit(ctx context.Context, r recipe) error {
	sum, err := b.sum(ctx, r)
	if err != nil {
		return fmt.Errorf("identifying image %s: %w", r.name, err)
	}
	have, err := b.Docker.Source(ctx, r.name)
	if err != nil || have == sum {
		return err
	}
	builder := builderPrefix + sum // Whoever builds the same meanwhile uses another sum or waits for Docker.
	if err := b.fill(ctx, builder, r); err != nil {
		return fmt.Errorf("making image %s: %w", r.name, err)
	}
	_, err = b.Docker.Run(ctx, "commit",
		"--change", "ENTRYPOINT "+r.entrypoint, "--change", "CMD []", "--change", "ENV container=docker",
		"--change", fmt.Sprintf("LABEL %s=%s", docker.SourceLabel, sum),
		builder, r.name)
	if err != nil {
		return fmt.Errorf("making image %s: %w", r.name, err)
	}
	return b.Docker.Remove(ctx, builder)
}

// sum identifies everything that the image is made of.
func (b Builder) sum(ctx context.Context, r recipe) (string, error) {
	words := []string{r.script, r.entrypoint}
	for _, name := range append([]string{r.base}, r.images...) {
		id, err := b.Docker.ImageID(ctx, name)
		if err != nil {
			return "", err
		}
		words = append(words, name, id)
	}
	return image.Sum(r.files, words...)
}

// fill leaves a container behind that is ready to be committed.
func (b Builder) fill(ctx context.Context, builder string, r recipe) error {
	if err := b.Docker.Remove(ctx, builder); err != nil {
		return err
	}
	_, err := b.Docker.Run(ctx, "run", "--detach", "--name", builder, "--privileged", "--network", "host", "--stop-signal", "SIGRTMIN+3",
		"--entrypoint", "/bin/sleep", r.base, "infinity")
	if err != nil {
		return err
	}
	if r.script != "" {
		if _, err := b.Docker.Exec(ctx, builder, "bash", "-ec", r.script); err != nil {
			return err
		}
	}
	var files bytes.Buffer
	if err := image.Archive(&files, r.files); err != nil {
		return err
	}
	if err := b.Docker.Feed(ctx, &files, "cp", "-", builder+":/"); err != nil {
		return err
	}
	return b.preload(ctx, builder, r.images)
}

// preload imports images into the builder's containerd. They are unpacked by the
// node that runs them: an image cannot carry unpacked ones.
func (b Builder) preload(ctx context.Context, builder string, images []string) error {
	if len(images) == 0 {
		return nil
	}
	if _, err := b.Docker.Run(ctx, "exec", "--detach", builder, "/usr/local/bin/containerd"); err != nil {
		return err
	}
	wait := fmt.Sprintf("timeout %d bash -c 'until ctr version; do sleep 0.2; done'", int(containerdTimeout.Seconds()))
	if _, err := b.Docker.Exec(ctx, builder, "bash", "-ec", wait); err != nil {
		return err
	}
	err := b.Docker.Pipe(ctx, images, builder, "ctr", "--namespace=k8s.io", "images", "import",
		"--label=io.cri-containerd.pinned=pinned", "--no-unpack", "--digests", "-")
	if err != nil {
		return err
	}
	_, err = b.Docker.Exec(ctx, builder, "bash", "-ec",
		"pkill -x containerd; while pgrep -x containerd; do sleep 0.1; done; rm -rf /run/containerd /var/lib/containerd/tmpmounts/*")
	return err
}
