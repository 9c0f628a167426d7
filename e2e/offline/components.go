// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/offline/programs"
)

// components builds the images that kubeadm starts a node with, under the names that this version of kubeadm uses.
func (b NodeImages) components(ctx context.Context, debian string) ([]string, error) {
	version, err := b.version(ctx)
	if err != nil {
		return nil, err
	}
	out, err := b.Docker.Runner.Run(ctx, b.Programs[programs.Kubeadm], "config", "images", "list", "--kubernetes-version", version)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(out)
	if !slices.ContainsFunc(names, isPause) {
		return nil, fmt.Errorf("kubeadm requires no pause image: %s", names)
	}
	for _, name := range names {
		if err := b.component(ctx, name, debian); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// component builds one image. The last part of the image's name is the name of its program.
func (b NodeImages) component(ctx context.Context, name, debian string) error {
	program, _, _ := strings.Cut(path.Base(name), ":")
	binary, ok := b.Programs[program]
	if !ok {
		return fmt.Errorf("kubeadm requires image %s, which is not built here", name)
	}
	made := docker.ProgramImage(name, binary, entrypoint(program), "0")
	if program == programs.Proxy {
		files, err := b.packetFilter(ctx, debian)
		if err != nil {
			return err
		}
		made.Files = append(made.Files, files...)
	}
	_, err := made.Ensure(ctx, b.Docker)
	return err
}

// entrypoint returns the path of a program in kubeadm's manifests.
func entrypoint(program string) string {
	switch program {
	case programs.CoreDNS, programs.Pause:
		return "/" + program
	}
	return "/usr/local/bin/" + program
}

func isPause(name string) bool {
	program, _, _ := strings.Cut(path.Base(name), ":")
	return program == programs.Pause
}
