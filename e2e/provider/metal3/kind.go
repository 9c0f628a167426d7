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

// operatorKubeconfig is where the operator finds the cluster.
const operatorKubeconfig = "/kubeconfig"

// CutOff takes the power from the hosts of a rack.
func (Provider) CutOff(rack string) string { return "lost-domains/" + rack }

// Simulator implements provider.Contained.
func (Provider) Simulator() provider.Simulator {
	return provider.Simulator{Program: "hostsim", Container: "operator", InCluster: true}
}

// Start runs the simulated bare-metal operator beside the node. It starts anew when its image has moved or the
// cluster is another. What it knows is in the cluster's hosts, save for faults.
func (p Provider) Start(ctx context.Context, k provider.Kind) (provider.Beside, error) {
	if err := connectRacks(ctx, k); err != nil {
		return provider.Beside{}, err
	}
	sum, err := p.writeKubeconfig(ctx, k)
	if err != nil {
		return provider.Beside{}, err
	}
	name := k.Container(p.Simulator())
	running, err := k.Docker.Run(ctx, "ps", "--quiet", "--filter", "name=^"+name+"$", "--filter", "label="+docker.SourceLabel+"="+sum)
	if err != nil {
		return provider.Beside{}, err
	}
	if running == "" {
		if err := k.Docker.Remove(ctx, name); err != nil {
			return provider.Beside{}, err
		}
		if _, err := k.Docker.Run(ctx, p.arguments(k, sum)...); err != nil {
			return provider.Beside{}, err
		}
	}
	return provider.Beside{Variables: imageVariables(), Network: machineNetwork(k)}, nil
}

// imageVariables name the image. Nobody checks its sum, but the templates want one.
func imageVariables() map[string]string {
	url := "oci://" + docker.MachineImageName + binaries.KubernetesVersion
	sum := sha256.Sum256([]byte(url))
	return map[string]string{"METAL3_IMAGE_URL": url, "METAL3_IMAGE_CHECKSUM": hex.EncodeToString(sum[:])}
}

// writeKubeconfig writes it to a file and identifies what the operator runs on.
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

// arguments run the operator. One whose hosts are containers starts them beside itself; another runs as the user
// who may read the kubeconfig. The hosts of a cluster of three control planes and two workers, and of one machine more in each
// rack, are made in namespace default.
func (p Provider) arguments(k provider.Kind, sum string) []string {
	image := p.Simulator().Image(k.Boot)
	args := []string{
		"run", "--detach", "--name", k.Container(p.Simulator()), "--network", k.Network, "--restart", "on-failure",
		"--label", k.Label, "--label", docker.SourceLabel + "=" + sum,
		"--volume", kubeconfigFile(k) + ":" + operatorKubeconfig + ":ro", "--env", "KUBECONFIG=" + operatorKubeconfig,
	}
	command := []string{
		"--control", ":" + provider.ControlPort, "--domains", strings.Join(rackNames(), ","), "--hosts-per-rack", strconv.Itoa(hostsPerRack),
	}
	if !k.Boot {
		args = append(args, "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--read-only", "--tmpfs", "/tmp", image)
		return append(args, command...)
	}
	args = append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock", image)
	return append(append(args, command...), "--containers", k.Name, "--container-label", k.Label, "--container-network", machineNetwork(k))
}

// FitTemplate leaves templates as they are: hosts know by the image's URL.
func (Provider) FitTemplate(template []byte, _ provider.Kind) ([]byte, error) { return template, nil }

// MachineContainer is that of a host by its name: which machine it is changes.
func (Provider) MachineContainer(host string) string { return "-" + host + "$" }
