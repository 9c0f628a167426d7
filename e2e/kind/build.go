// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/offline"
	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/tool"
)

// registry serves most of the published images.
const registry = "https://registry.k8s.io/v2/"

func (e *Environment) startEngine(ctx context.Context, log io.Writer) error {
	advice, err := offline.RaiseLimits()
	if err != nil {
		return err
	}
	for _, command := range advice {
		_, _ = fmt.Fprintln(e.Out, "The kernel limits of this machine are too low for several nodes; run:", command)
	}
	return e.engine(log).Ensure(ctx)
}

// findSource decides whether third-party images are pulled or built.
func (e *Environment) findSource(ctx context.Context, log io.Writer) error {
	e.found.published = e.Source.Published(func() error {
		err := tool.AskRegistry(ctx, registry)
		_, _ = fmt.Fprintf(log, "requesting %s: %v\n", registry, err)
		return err
	})
	if e.found.published {
		return nil
	}
	return offline.NodeImages{Docker: e.docker(log), Dir: e.shared}.Prepare(ctx)
}

func (e *Environment) buildPrograms(ctx context.Context, _ io.Writer) (err error) {
	e.found.programs, err = e.builder.Ensure(ctx, e.programs()...)
	return err
}

// programs returns the programs that the environment needs.
func (e *Environment) programs() []string {
	names := []string{binaries.Kubectl, binaries.Clusterctl}
	for _, p := range e.Providers {
		names = append(names, p.Simulator().Program, binaries.Provider(p.Describe().Name))
		names = append(names, p.Simulator().Programs...)
	}
	if e.Upstream {
		names = append(names, e.replacing().Upstream)
	}
	if e.Boot {
		names = append(append(names, binaries.MachineInit), e.chartPrograms()...)
	}
	if !e.found.published {
		names = append(names, e.unpublished()...)
	}
	slices.Sort(names)
	return slices.Compact(names) // Some are needed both by the node and by a simulator.
}

// unpublished returns the programs of the images that cannot be pulled.
func (e *Environment) unpublished() []string {
	names := append(programs.Node(), binaries.CAPICore, binaries.CAPIKubeadmBootstrap, binaries.CAPIKubeadmControlPlane)
	for _, part := range programs.CertManagerParts() {
		names = append(names, programs.CertManager(part))
	}
	if e.Boot {
		names = append(names, programs.KubeVIP)
	}
	return names
}

// buildNode builds the node image. If images can be pulled, kind pulls its own.
func (e *Environment) buildNode(ctx context.Context, log io.Writer) error {
	if e.found.published {
		return nil
	}
	kindSource, _, err := e.builder.Kind(ctx)
	if err != nil {
		return err
	}
	node := offline.NodeImages{Docker: e.docker(log), Programs: e.found.programs, Kind: kindSource, Dir: e.shared}
	e.found.node, err = node.Node(ctx)
	return err
}

// buildComponents builds the images that run in the cluster and next to it.
func (e *Environment) buildComponents(ctx context.Context, log io.Writer) error {
	images, err := e.ownImages()
	if err != nil {
		return err
	}
	if e.Boot {
		fromCharts, err := e.chartImages()
		if err != nil {
			return err
		}
		images = append(images, fromCharts...)
	}
	if e.Upstream {
		upstreams, err := e.upstreamImage(ctx)
		if err != nil {
			return err
		}
		images = append(images, upstreams)
	}
	if !e.found.published {
		theirs, err := e.theirImages(ctx)
		if err != nil {
			return err
		}
		images = append(images, theirs...)
	}
	for _, i := range images {
		if _, err := i.Ensure(ctx, e.docker(log)); err != nil {
			return err
		}
		e.found.images = append(e.found.images, i.Name)
	}
	return nil
}

// buildMachine builds the image that machines boot from.
func (e *Environment) buildMachine(ctx context.Context, log io.Writer) error {
	builder := e.machineImages(log)
	if !e.found.published {
		var err error
		if builder.KubeVIP, err = e.builder.KubeVIP(ctx); err != nil {
			return err
		}
	}
	var err error
	e.found.machine, err = builder.Machine(ctx, cmp.Or(e.found.node, PublishedNode))
	return err
}

func (e *Environment) machineImages(log io.Writer) docker.MachineImages {
	return docker.MachineImages{Docker: e.docker(log), Programs: e.found.programs}
}

// ownImages returns the images in the components of our providers.
func (e *Environment) ownImages() ([]docker.Image, error) {
	var images []docker.Image
	for _, p := range e.Providers {
		provider := p.Describe().Name
		name, err := e.managerImage(provider)
		if err != nil {
			return nil, err
		}
		images = append(images, docker.ProgramImage(name, e.found.programs[binaries.Provider(provider)], docker.ManagerPath, docker.NonRoot))
	}
	return images, nil
}

// managerImage returns the image of one of our providers; its tag is the provider's version.
func (e *Environment) managerImage(provider string) (string, error) {
	components, err := release.Components(e.config(provider))
	if err != nil {
		return "", err
	}
	return release.OnlyImage(provider, components)
}

// config returns the kustomize folder of one of our providers.
func (e *Environment) config(provider string) string {
	return filepath.Join(e.builder.Root, "providers", provider, "config", "default")
}

// theirImages returns the images of cert-manager and Cluster API, with their published names.
func (e *Environment) theirImages(ctx context.Context) ([]docker.Image, error) {
	_, certManager, err := e.builder.CertManager(ctx)
	if err != nil {
		return nil, err
	}
	_, clusterAPI, err := e.builder.ClusterAPI(ctx)
	if err != nil {
		return nil, err
	}
	var images []docker.Image
	for _, part := range programs.CertManagerParts() {
		images = append(images, docker.ProgramImage(offline.CertManagerImage(part, certManager),
			e.found.programs[programs.CertManager(part)], offline.CertManagerEntrypoint(part), docker.NonRoot))
	}
	for _, manager := range e.clusterAPIManagers() {
		name := fmt.Sprintf("registry.k8s.io/cluster-api/%s:%s", manager.image, clusterAPI)
		images = append(images, docker.ProgramImage(name, e.found.programs[manager.program], docker.ManagerPath, docker.NonRoot))
	}
	return images, nil
}
