// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"path"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
)

const (
	// ControlPort is the port on which a simulator in a container accepts faults.
	ControlPort = "8990"
	// SimulatorPrograms is the folder of third-party programs in its image.
	SimulatorPrograms = "/programs"
)

// KindProvider is a provider that can be installed in a kind environment. Its infrastructure is simulated in a container next to the
// cluster.
type KindProvider interface {
	Provider

	Simulator() Simulator
	// Start starts the simulator unless it runs, and returns how to use it.
	Start(ctx context.Context, k Kind) (RunningSimulator, error)
	// FitTemplate adapts a cluster template to machines that are containers.
	FitTemplate(template []byte, k Kind) ([]byte, error)
	// MachineContainer returns a pattern for the name of a machine's container.
	MachineContainer(machine string) string
	// CutOff returns the simulator's fault in which a failure domain and everything in it is lost.
	CutOff(domain string) (fault string)
}

// Simulator describes a simulator in a container.
type Simulator struct {
	// Program is the name of the program and of its image.
	Program string
	// Container is the suffix of the container's name.
	Container string
	// Programs are third-party programs that it runs. Its image has them in the folder SimulatorPrograms.
	Programs []string
	// InCluster is set if the simulator keeps all of its state in the cluster: each cluster then has its own, which is stopped while
	// objects are moved to another cluster. Other simulators can be shared by several clusters.
	InCluster bool
	// StartTimeout is how long one that is not InCluster may take to print its variables, and LastVariable the name of the last one.
	StartTimeout time.Duration
	LastVariable string
}

// Image returns the simulator's image. A simulator whose machines are containers needs more than its program.
func (s Simulator) Image(boot bool) string {
	if boot {
		return "faultline/" + s.Program + "-containers:latest"
	}
	return "faultline/" + s.Program + ":latest"
}

// Files returns the third-party programs in its image.
func (s Simulator) Files(programs binaries.Paths) []docker.File {
	files := make([]docker.File, 0, len(s.Programs))
	for _, name := range s.Programs {
		files = append(files, docker.File{Path: path.Join(SimulatorPrograms, name), From: programs[name], Mode: 0o755})
	}
	return files
}

// RunningSimulator describes a running simulator.
type RunningSimulator struct {
	// Variables are the variables of cluster templates that describe it.
	Variables map[string]string
	// Network is the network of its machines.
	Network string
}

// Kind is a kind environment from the perspective of a provider.
type Kind struct {
	// Name is the environment's name, and SimulatorOf the name of another one whose simulator should be used if possible.
	Name, SimulatorOf string
	// Boot is set if machines are containers, and Machine is the image that they boot from.
	Boot    bool
	Machine string
	Docker  docker.Docker
	// Node is the container of the cluster's node, and Network is its network.
	Node, Network string
	// Folder is the folder for files of the environment.
	Folder string
	// Label is the label of all containers and networks of the environment.
	Label string
	// Kubeconfig returns a kubeconfig for the cluster's network.
	Kubeconfig func() ([]byte, error)
	// Variables are the variables of cluster templates, once the simulator runs.
	Variables map[string]string
}

// Container returns the name of the simulator's container.
func (k Kind) Container(s Simulator) string {
	if s.InCluster {
		return k.Name + "-" + s.Container
	}
	return cmp.Or(k.SimulatorOf, k.Name) + "-" + s.Container
}
