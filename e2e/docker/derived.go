// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"fmt"
	"time"
)

const (
	// builderPrefix is the name prefix of containers that images are committed from.
	builderPrefix = "faultline-image-builder-"
	// containerdTimeout bounds the wait for containerd in the builder.
	containerdTimeout = 30 * time.Second
)

// Derived is an image that is committed from a container of another image.
type Derived struct {
	Name       string // including the tag
	Base       string
	Script     string   // runs first, with the host's network
	Files      []File   // added after the script
	Images     []string // imported into the image's containerd
	Entrypoint string   // in JSON
}

// Ensure builds the image unless Docker has one from the same inputs.
func (i Derived) Ensure(ctx context.Context, d Docker) error {
	sum, err := i.sum(ctx, d)
	if err != nil {
		return fmt.Errorf("identifying image %s: %w", i.Name, err)
	}
	have, err := d.Source(ctx, i.Name)
	if err != nil || have == sum {
		return err
	}
	builder := builderPrefix + sum // Concurrent builds use another sum, or wait for Docker.
	if err := i.fill(ctx, d, builder); err != nil {
		return fmt.Errorf("building image %s: %w", i.Name, err)
	}
	_, err = d.Run(ctx, "commit",
		"--change", "ENTRYPOINT "+i.Entrypoint, "--change", "CMD []", "--change", "ENV container=docker",
		"--change", fmt.Sprintf("LABEL %s=%s", SourceLabel, sum),
		builder, i.Name)
	if err != nil {
		return fmt.Errorf("building image %s: %w", i.Name, err)
	}
	if err := d.Remove(ctx, builder); err != nil {
		return err
	}
	return d.RemoveReplaced(ctx)
}

// sum returns a checksum of all inputs of the image.
func (i Derived) sum(ctx context.Context, d Docker) (string, error) {
	words := []string{i.Script, i.Entrypoint}
	for _, name := range append([]string{i.Base}, i.Images...) {
		id, err := d.ImageID(ctx, name)
		if err != nil {
			return "", err
		}
		words = append(words, name, id)
	}
	return SumFiles(i.Files, words...)
}

// fill creates a container that is ready to be committed.
func (i Derived) fill(ctx context.Context, d Docker, builder string) error {
	if err := d.Remove(ctx, builder); err != nil {
		return err
	}
	_, err := d.Run(ctx, "run", "--detach", "--name", builder, "--privileged", "--network", "host", "--stop-signal", "SIGRTMIN+3",
		"--entrypoint", "/bin/sleep", i.Base, "infinity")
	if err != nil {
		return err
	}
	if i.Script != "" {
		if _, err := d.Exec(ctx, builder, "bash", "-ec", i.Script); err != nil {
			return err
		}
	}
	if err := d.AddFiles(ctx, builder, i.Files); err != nil {
		return err
	}
	return preload(ctx, d, builder, i.Images)
}

// preload imports images into the builder's containerd. The node unpacks them when it runs them, because an image cannot contain unpacked
// images.
func preload(ctx context.Context, d Docker, builder string, images []string) error {
	if len(images) == 0 {
		return nil
	}
	if _, err := d.Run(ctx, "exec", "--detach", builder, "/usr/local/bin/containerd"); err != nil {
		return err
	}
	wait := fmt.Sprintf("timeout %d bash -c 'until ctr version; do sleep 0.2; done'", int(containerdTimeout.Seconds()))
	if _, err := d.Exec(ctx, builder, "bash", "-ec", wait); err != nil {
		return err
	}
	err := d.Pipe(ctx, images, builder, "ctr", "--namespace=k8s.io", "images", "import",
		"--label=io.cri-containerd.pinned=pinned", "--no-unpack", "--digests", "-")
	if err != nil {
		return err
	}
	_, err = d.Exec(ctx, builder, "bash", "-ec",
		"pkill -x containerd; while pgrep -x containerd; do sleep 0.1; done; rm -rf /run/containerd /var/lib/containerd/tmpmounts/*")
	return err
}
