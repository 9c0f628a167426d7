// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/provider"
)

// environmentLabel is the label of every container and network of an environment.
const environmentLabel = "io.faultline.environment"

// Kind returns the environment in the form that providers use.
func (e *Environment) Kind(log io.Writer) provider.Kind {
	k := provider.Kind{
		Name: e.Name, SimulatorOf: e.SimulatorOf, Boot: e.Boot, Docker: e.docker(log), Node: e.cluster(log).Node(), Network: NodeNetwork,
		Folder: e.own, Label: environmentLabel + "=" + e.Name, Kubeconfig: e.cluster(log).InternalKubeconfig, Variables: e.Variables(),
	}
	if e.Boot {
		k.Machine = docker.MachineImageName + binaries.KubernetesVersion
	}
	return k
}

// buildSimulators builds the images of the simulated infrastructures.
func (e *Environment) buildSimulators(ctx context.Context, log io.Writer) error {
	for _, p := range e.Providers {
		simulator := p.Simulator()
		if e.Boot {
			if _, err := e.machineImages(log).Simulator(ctx, simulator.Program, e.found.machine, simulator.Files(e.found.programs)...); err != nil {
				return err
			}
			continue
		}
		made := docker.ProgramImage(simulator.Image(false), e.found.programs[simulator.Program], "/"+simulator.Program, docker.NonRoot)
		made.Files = append(made.Files, simulator.Files(e.found.programs)...)
		if _, err := made.Ensure(ctx, e.docker(log)); err != nil {
			return err
		}
	}
	return nil
}

// installOthers installs third-party objects without which the providers do not start.
func (e *Environment) installOthers(ctx context.Context, log io.Writer) error {
	for _, p := range e.Providers {
		objects, err := p.Objects()
		if err != nil {
			return err
		}
		if err := e.applyCRDs(ctx, log, objects); err != nil {
			return err
		}
	}
	return nil
}

func (e *Environment) applyCRDs(ctx context.Context, log io.Writer, objects []*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	manifest, err := encode(objects)
	if err != nil {
		return err
	}
	if err := e.applyManifest(ctx, log, bytes.NewReader(manifest)); err != nil {
		return err
	}
	wait := []string{"wait", "--for=condition=Established", "--timeout=1m"}
	for _, object := range objects {
		wait = append(wait, "crd/"+object.GetName())
	}
	_, err = e.kubectl(ctx, log, wait...)
	return err
}

// startSimulators starts the simulated infrastructures. Workload clusters use the network of the first provider's machines.
func (e *Environment) startSimulators(ctx context.Context, log io.Writer) error {
	variables, network := map[string]string{}, ""
	for _, p := range e.Providers {
		simulator, err := p.Start(ctx, e.Kind(log))
		if err != nil {
			return fmt.Errorf("starting %s: %w", p.Describe().System, err)
		}
		maps.Copy(variables, simulator.Variables)
		if network == "" {
			network = simulator.Network
		}
	}
	e.found.variables = variables
	return e.describeNetwork(ctx, log, network)
}

// removeContainers removes the simulators and machines that are left.
func (e *Environment) removeContainers(ctx context.Context, log io.Writer) error {
	found, err := e.labelled(ctx, log, "ps", "--all")
	if err != nil || len(found) == 0 {
		return err
	}
	return e.docker(log).Remove(ctx, found...)
}

func (e *Environment) removeNetworks(ctx context.Context, log io.Writer) error {
	found, err := e.labelled(ctx, log, "network", "ls")
	if err != nil || len(found) == 0 {
		return err
	}
	_, err = e.docker(log).Run(ctx, append([]string{"network", "rm"}, found...)...)
	return err
}
