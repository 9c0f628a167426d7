// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/kind/repository"
	"github.com/faultline-io/faultline/e2e/provider"
)

// replaced is the release that a provider of ours takes over from, and the name of that provider; "" if none of them does.
func (e *Environment) replaced() (name string, release provider.Replaced) {
	for _, p := range e.Providers {
		if replacing, ok := p.(provider.Replacing); ok {
			return p.Describe().Name, replacing.Replaced()
		}
	}
	return "", provider.Replaced{}
}

// upstream is that release, as its module has it.
func (e *Environment) upstream(ctx context.Context) (repository.Provider, error) {
	name, release := e.replaced()
	folder, version, err := release.Source(ctx, e.builder)
	return repository.Provider{
		Name: name, Type: repository.Infrastructure, Version: version,
		Config: filepath.Join(folder, "config", "default"), Metadata: filepath.Join(folder, "metadata.yaml"),
	}, err
}

// upstreamImage is the image that its components name, with its program as it is built from the module.
func (e *Environment) upstreamImage(ctx context.Context) (docker.Image, error) {
	upstream, err := e.upstream(ctx)
	if err != nil {
		return docker.Image{}, err
	}
	components, err := repository.Components(upstream.Config)
	if err != nil {
		return docker.Image{}, err
	}
	_, release := e.replaced()
	name, err := onlyImage(release.Program, components)
	return docker.ProgramImage(name, e.found.programs[release.Program], managerPath, docker.NonRoot), err
}

// putUpstreamFirst lays out upstream's release beside ours, and has that one installed.
func (e *Environment) putUpstreamFirst(ctx context.Context, r repository.Repository) error {
	upstream, err := e.upstream(ctx)
	if err != nil {
		return err
	}
	e.found.providers = slices.Clone(e.found.providers)
	for i := range e.found.providers {
		if e.found.providers[i].Label() == upstream.Label() {
			e.found.providers[i] = upstream
		}
	}
	return r.Write([]repository.Provider{upstream}, nil)
}
