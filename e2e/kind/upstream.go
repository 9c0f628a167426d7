// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/release"
)

// replacing returns the provider of ours that takes over from an upstream release; an empty description if none does.
func (e *Environment) replacing() provider.Description {
	for _, p := range e.Providers {
		if about := p.Describe(); about.Upstream != "" {
			return about
		}
	}
	return provider.Description{}
}

// upstream returns that release, from its module.
func (e *Environment) upstream(ctx context.Context) (release.Provider, error) {
	folder, version, err := e.builder.Upstream(ctx)
	return release.Provider{
		Name: e.replacing().Name, Type: release.Infrastructure, Version: version,
		Config: filepath.Join(folder, "config", "default"), Metadata: filepath.Join(folder, "metadata.yaml"),
	}, err
}

// upstreamImage returns the image of that release's components, with the program built from the module.
func (e *Environment) upstreamImage(ctx context.Context) (docker.Image, error) {
	upstream, err := e.upstream(ctx)
	if err != nil {
		return docker.Image{}, err
	}
	components, err := release.Components(upstream.Config)
	if err != nil {
		return docker.Image{}, err
	}
	program := e.replacing().Upstream
	name, err := release.OnlyImage(program, components)
	return docker.ProgramImage(name, e.found.programs[program], docker.ManagerPath, docker.NonRoot), err
}

// preferUpstream adds upstream's release to the repository and makes it the one to install.
func (e *Environment) preferUpstream(ctx context.Context, r release.Repository) error {
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
	return r.Write([]release.Provider{upstream}, nil)
}
