// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"path"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
)

const (
	// ControlPort is where a simulator in a container takes orders.
	ControlPort = "8990"
	// SimulatorPrograms is the folder of its image with the programs of others.
	SimulatorPrograms = "/programs"
)

// Contained is a provider whose infrastructure can be simulated in a container beside a kind cluster.
type Contained interface {
	Simulator() Simulator
	// Start starts the simulator, unless it runs already, and says what there is to know about it.
	Start(ctx context.Context, k Kind) (Beside, error)
	// FitTemplate makes a cluster template what it is to be for machines that are containers.
	FitTemplate(template []byte, k Kind) ([]byte, error)
	// MachineContainer is a pattern for the name of the container that a machine runs in.
	MachineContainer(machine string) string
	// CutOff is the fault of the simulator that takes a failure domain away with what is in it.
	CutOff(domain string) (fault string)
}

// Replacing is a provider that takes over from the one of another project, whose release can be installed first. Not every provider does.
type Replacing interface {
	Replaced() Replaced
}

// Replaced is what there is to know about the release that a provider takes over from.
type Replaced struct {
	// Program is its manager, as package binaries knows it.
	Program string
	// Source returns the folder of its source, with its manifests in config/default and its metadata.yaml, and its version.
	Source func(ctx context.Context, builder *binaries.Builder) (folder, version string, err error)
}

// Simulator is what is in the container.
type Simulator struct {
	// Program is its name, and that of its image.
	Program string
	// Container ends the container's name.
	Container string
	// Programs are those of others that it runs, which its image has in the folder SimulatorPrograms.
	Programs []string
	// InCluster tells that all it knows is in the cluster: each cluster has its own, and it rests while objects are moved to
	// another. What another simulator has can be used by several clusters.
	InCluster bool
}

// Image is that of the simulator. One whose machines are containers needs more than its program.
func (s Simulator) Image(boot bool) string {
	if boot {
		return "faultline/" + s.Program + "-containers:latest"
	}
	return "faultline/" + s.Program + ":latest"
}

// Files are the programs of others in its image.
func (s Simulator) Files(programs binaries.Paths) []docker.File {
	files := make([]docker.File, 0, len(s.Programs))
	for _, name := range s.Programs {
		files = append(files, docker.File{Path: path.Join(SimulatorPrograms, name), From: programs[name], Mode: 0o755})
	}
	return files
}

// Beside is what there is to know about a simulator that runs.
type Beside struct {
	// Variables are those of cluster templates that describe it.
	Variables map[string]string
	// Network is the one that its machines are on.
	Network string
}

// Kind is a kind environment, as a provider sees it.
type Kind struct {
	// Name is the environment's, and SimulatorOf the name of another one whose simulator is to be used, if it can be.
	Name, SimulatorOf string
	// Boot tells that machines are containers, and Machine the image that they boot from.
	Boot    bool
	Machine string
	Docker  docker.Docker
	// Node is the container of the cluster's node, and Network the one that it is on.
	Node, Network string
	// Folder is for files of the environment.
	Folder string
	// Label is on everything that belongs to the environment: containers and networks.
	Label string
	// Kubeconfig is one that reaches the cluster from its network.
	Kubeconfig func() ([]byte, error)
	// Variables are those of cluster templates, once the simulator runs.
	Variables map[string]string
}

// Container is the name of the simulator's container.
func (k Kind) Container(s Simulator) string {
	if s.InCluster {
		return k.Name + "-" + s.Container
	}
	return cmp.Or(k.SimulatorOf, k.Name) + "-" + s.Container
}
