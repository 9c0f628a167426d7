// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/provider"
)

// operatorKubeconfig is the path of the cluster's kubeconfig in the operator's container.
const operatorKubeconfig = "/kubeconfig"

// CutOff returns the fault that powers off the hosts of a rack.
func (Provider) CutOff(rack string) string { return "lost-domains/" + rack }

// Simulator implements provider.KindProvider.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{Program: "hostsim", Container: "operator", InCluster: true}
}

// Start runs the simulated bare-metal operator next to the node. It is restarted if its image or the cluster has changed. Except for
// faults, all of its state is in the cluster's hosts.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.RunningSimulator, error) {
	if err := connectRacks(ctx, k); err != nil {
		return provider.RunningSimulator{}, err
	}
	sum, err := p.writeKubeconfig(ctx, k)
	if err != nil {
		return provider.RunningSimulator{}, err
	}
	name := k.Container(p.Simulator())
	running, err := k.Docker.Run(ctx, "ps", "--quiet", "--filter", "name=^"+name+"$", "--filter", "label="+docker.SourceLabel+"="+sum)
	if err != nil {
		return provider.RunningSimulator{}, err
	}
	if running == "" {
		if err := k.Docker.Remove(ctx, name); err != nil {
			return provider.RunningSimulator{}, err
		}
		if _, err := k.Docker.Run(ctx, p.arguments(k, sum)...); err != nil {
			return provider.RunningSimulator{}, err
		}
	}
	return provider.RunningSimulator{Variables: imageVariables(), Network: machineNetwork(k)}, nil
}

// imageVariables returns the variables of the image. Its checksum is not verified, but the templates require one.
func imageVariables() map[string]string {
	url := "oci://" + docker.MachineImageName + binaries.KubernetesVersion
	sum := sha256.Sum256([]byte(url))
	return map[string]string{"METAL3_IMAGE_URL": url, "METAL3_IMAGE_CHECKSUM": hex.EncodeToString(sum[:])}
}

// writeKubeconfig writes the kubeconfig and returns a checksum that identifies the operator's cluster.
func (p Provider) writeKubeconfig(ctx context.Context, k provider.Kind) (sum string, err error) {
	kubeconfig, err := k.Kubeconfig()
	if err != nil {
		return "", err
	}
	id, err := k.Docker.ImageID(ctx, p.Simulator().Image(k.Boot))
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(append([]byte(id), kubeconfig...))
	return hex.EncodeToString(hash[:]), os.WriteFile(kubeconfigFile(k), kubeconfig, 0o600)
}

func kubeconfigFile(k provider.Kind) string { return filepath.Join(k.Folder, "operator.kubeconfig") }

// arguments returns the docker arguments of the operator. Unless hosts are containers, it runs as the user who may read the kubeconfig. It
// creates, in namespace default, the hosts of a cluster of three control planes and two workers, and one spare host in each rack.
func (p Provider) arguments(k provider.Kind, sum string) []string {
	options := []string{
		"--restart", "on-failure", "--label", docker.SourceLabel + "=" + sum,
		"--volume", kubeconfigFile(k) + ":" + operatorKubeconfig + ":ro", "--env", "KUBECONFIG=" + operatorKubeconfig,
	}
	command := []string{
		"--control", ":" + provider.ControlPort, "--domains", strings.Join(rackNames(), ","), "--hosts-per-rack", strconv.Itoa(hostsPerRack),
	}
	if k.Boot {
		command = append(command, "--containers", k.Name, "--container-label", k.Label, "--container-network", machineNetwork(k))
	} else {
		options = append(options, "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
	}
	return k.Arguments(p.Simulator(), options, command...)
}

// FitTemplate returns templates unchanged: the image's URL is enough for the hosts.
func (Provider) FitTemplate(template []byte, _ provider.Kind) ([]byte, error) { return template, nil }

// MachineContainer returns the pattern for the container of a host, because the machine on a host changes.
func (Provider) MachineContainer(host string) string { return "-" + host + "$" }
