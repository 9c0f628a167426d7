// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/offline/programs"
)

// MachineImageName is the name of a machine's image. The tag is the version of Kubernetes.
const MachineImageName = "faultline/machine:"

const (
	// machineBaseName is the name of the base image. The tag is the version of Kubernetes.
	machineBaseName = "faultline/machine-base:"
	// machineEntrypoint ends with the entrypoint of a kind node.
	machineEntrypoint = `["/usr/local/bin/machine-init","/usr/local/bin/entrypoint","/sbin/init"]`
	// installCloudInit installs what turns a node into a machine that is configured at boot.
	installCloudInit = `apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends cloud-init sudo qemu-guest-agent
rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb`
	kubeVIPImage = "ghcr.io/kube-vip/kube-vip:"
	// specImage is the image of pods that the specs of Cluster API's test module deploy.
	specImage = "registry.k8s.io/pause:3.10.1"
	units     = "/etc/systemd/system"
	// cloudConfig names the only data source of cloud-init.
	cloudConfig = `datasource_list: [ VMware ]
network: {config: disabled}
disable_root: false
locale: false
`
	// aptConfig removes all package sources, because a machine cannot reach any.
	aptConfig = `Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "/dev/null";
`
	// guestAgent replaces the agent, which needs a device of a hypervisor. The simulators get the addresses of containers from Docker.
	guestAgent = `[Unit]
Description=Stands for the QEMU guest agent
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
[Install]
WantedBy=multi-user.target
`
)

// kubeadm wraps the real kubeadm with the arguments that a container needs.
//
//go:embed kubeadm.sh
var kubeadm []byte

// MachineImages builds images into Docker when their inputs have changed.
type MachineImages struct {
	Docker Docker
	// Programs has machine-init and the simulators. Machine images include kube-vip and pause if those were built; otherwise machines
	// pull them.
	Programs binaries.Paths
	// KubeVIP is the version of kube-vip on the machines.
	KubeVIP string
}

// Machine ensures the image that a machine boots from, a node's image with cloud-init, and returns its name.
func (b MachineImages) Machine(ctx context.Context, node string) (string, error) {
	var preloaded []string
	for _, i := range b.preloaded() {
		if _, err := i.Ensure(ctx, b.Docker); err != nil {
			return "", err
		}
		preloaded = append(preloaded, i.Name)
	}
	// The packages take longest and change least, so they have their own image.
	base := Derived{Name: machineBaseName + binaries.KubernetesVersion, Base: node, Script: installCloudInit, Entrypoint: machineEntrypoint}
	if err := base.Ensure(ctx, b.Docker); err != nil {
		return "", err
	}
	machine := Derived{
		Name: MachineImageName + binaries.KubernetesVersion, Base: base.Name, Files: b.machineFiles(), Images: preloaded, Entrypoint: machineEntrypoint,
	}
	return machine.Name, machine.Ensure(ctx, b.Docker)
}

// preloaded returns the images that a machine must include because it cannot pull them.
func (b MachineImages) preloaded() []Image {
	var images []Image
	if kubeVIP, built := b.Programs[programs.KubeVIP]; built {
		images = append(images, ProgramImage(kubeVIPImage+b.KubeVIP, kubeVIP, "/kube-vip", "0"))
	}
	if pause, built := b.Programs[programs.Pause]; built {
		images = append(images, ProgramImage(specImage, pause, "/pause", "0"))
	}
	return images
}

func (b MachineImages) machineFiles() []File {
	files := []File{
		{Path: "/usr/local/bin/machine-init", From: b.Programs[binaries.MachineInit], Mode: 0o755},
		{Path: "/usr/local/bin/kubeadm", Content: kubeadm, Mode: 0o755},
		{Path: "/etc/cloud/cloud.cfg.d/99-machine.cfg", Content: []byte(cloudConfig)},
		{Path: "/etc/apt/apt.conf.d/99-machine", Content: []byte(aptConfig)},
		{Path: units + "/qemu-guest-agent.service", Content: []byte(guestAgent)},
		// kubeadm needs containerd, and cloud-init runs kubeadm in its last stage.
		{
			Path:    units + "/cloud-final.service.d/20-containerd.conf",
			Content: []byte("[Unit]\nAfter=containerd.service\nWants=containerd.service\n"),
		},
	}
	for _, unit := range []string{"cloud-init-local", "cloud-init", "cloud-config", "cloud-final"} {
		files = append(files,
			File{
				Path:    fmt.Sprintf("%s/%s.service.d/10-guestinfo.conf", units, unit),
				Content: []byte("[Service]\nEnvironmentFile=-/etc/cloud/guestinfo.env\n"),
			})
	}
	return files
}

// Simulator ensures the image of a simulator that runs machines as containers. The simulator needs Docker's client and a shell, so the
// image is based on the machine's image, which has a shell and exists anyway. more are additional files.
func (b MachineImages) Simulator(ctx context.Context, program, machine string, more ...File) (string, error) {
	client, err := exec.LookPath("docker")
	if err != nil {
		return "", err
	}
	if client, err = filepath.EvalSymlinks(client); err != nil {
		return "", err
	}
	name, path := "faultline/"+program+"-containers:latest", "/usr/local/bin/"+program
	made := Derived{Name: name, Base: machine, Entrypoint: fmt.Sprintf("[%q]", path), Files: append([]File{
		{Path: path, From: b.Programs[program], Mode: 0o755},
		{Path: "/usr/local/bin/docker", From: client, Mode: 0o755},
	}, more...)}
	return name, made.Ensure(ctx, b.Docker)
}
