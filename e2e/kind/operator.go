// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/command"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/image"
	"github.com/faultline-io/faultline/e2e/kind/cluster"
	"github.com/faultline-io/faultline/e2e/kind/machineimage"

	"github.com/faultline-io/faultline/e2e/plane"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	operatorImage = "faultline/hostsim:latest"
	// racks are the failure domains of the cluster templates. The hosts of a cluster of three control planes and two
	// workers in them, and of one machine more in each, are made in namespace default.
	racks        = "rack-a,rack-b,rack-c"
	hostsPerRack = 3
	// operatorKubeconfig is where the operator finds the cluster.
	operatorKubeconfig = "/kubeconfig"
)

// DomainWithoutPower is a failure domain whose hosts have lost their power, for SetHostFault.
func DomainWithoutPower(name string) string { return "domains/" + name }

// operator is the container of the simulated bare-metal operator.
func (e *Environment) operator() string { return e.Name + "-operator" }

func (e *Environment) buildOperator(ctx context.Context, log io.Writer) (err error) {
	if e.Boot {
		e.found.operator, err = e.machineImages(log).Operator(ctx, e.found.machine)
		return err
	}
	e.found.operator = operatorImage
	_, err = image.Program(operatorImage, e.found.programs[binaries.HostSim], "/"+binaries.HostSim, image.NonRoot).Ensure(ctx, e.docker(log))
	return err
}

// installHostKinds installs the kinds of the bare-metal operator and of metal3's address manager. They are not the
// provider's to install, and it does not start without them.
func (e *Environment) installHostKinds(ctx context.Context, log io.Writer) error {
	crds, err := simulator.CRDs()
	if err != nil {
		return err
	}
	objects, err := plane.Untyped(crds)
	if err != nil {
		return err
	}
	manifest, err := encode(objects)
	if err != nil {
		return err
	}
	kubectl := []string{"--kubeconfig", e.Kubeconfig()}
	err = e.docker(log).Stream(ctx, command.Streams{In: strings.NewReader(string(manifest))}, e.Program(binaries.Kubectl),
		append(kubectl, "apply", "--server-side", "--force-conflicts", "--filename", "-")...)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(objects))
	for _, object := range objects {
		names = append(names, "crd/"+object.GetName())
	}
	_, err = e.kubectl(ctx, log, append([]string{"wait", "--for=condition=Established", "--timeout=1m"}, names...)...)
	return err
}

// startOperator runs the simulated bare-metal operator beside the node. It starts anew when its image has moved or the
// cluster is another. What it knows is in the cluster's hosts, save for faults.
func (e *Environment) startOperator(ctx context.Context, log io.Writer) error {
	d := e.docker(log)
	sum, err := e.writeOperatorKubeconfig(ctx, log)
	if err != nil {
		return err
	}
	running, err := d.Run(ctx, "ps", "--quiet", "--filter", "name=^"+e.operator()+"$", "--filter", "label="+docker.SourceLabel+"="+sum)
	if err != nil {
		return err
	}
	if running == "" {
		if err := d.Remove(ctx, e.operator()); err != nil {
			return err
		}
		if _, err := d.Run(ctx, e.operatorArguments(sum)...); err != nil {
			return err
		}
	}
	return e.describeHosts(ctx, log)
}

// writeOperatorKubeconfig writes it to a file and identifies what the operator runs on.
func (e *Environment) writeOperatorKubeconfig(ctx context.Context, log io.Writer) (sum string, err error) {
	kubeconfig, err := e.cluster(log).InternalKubeconfig()
	if err != nil {
		return "", err
	}
	id, err := e.docker(log).ImageID(ctx, e.found.operator)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(append([]byte(id), kubeconfig...))
	return hex.EncodeToString(hash[:]), os.WriteFile(e.operatorKubeconfigFile(), kubeconfig, 0o600)
}

func (e *Environment) operatorKubeconfigFile() string {
	return filepath.Join(e.own, "operator.kubeconfig")
}

// operatorArguments run the operator. One whose hosts are containers starts them beside itself; another runs as the user
// who may read the kubeconfig.
func (e *Environment) operatorArguments(sum string) []string {
	args := []string{
		"run", "--detach", "--name", e.operator(), "--network", cluster.Network, "--restart", "on-failure",
		"--label", environmentLabel + "=" + e.Name, "--label", docker.SourceLabel + "=" + sum,
		"--volume", e.operatorKubeconfigFile() + ":" + operatorKubeconfig + ":ro", "--env", "KUBECONFIG=" + operatorKubeconfig,
	}
	command := []string{"--control", ":" + controlPort, "--domains", racks, "--hosts-per-rack", strconv.Itoa(hostsPerRack)}
	if !e.Boot {
		args = append(args, "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--read-only", "--tmpfs", "/tmp", e.found.operator)
		return append(args, command...)
	}
	args = append(args, "--volume", "/var/run/docker.sock:/var/run/docker.sock", e.found.operator)
	return append(append(args, command...), "--containers", e.Name, "--container-label", environmentLabel+"="+e.Name, "--container-network", e.rackNetwork())
}

// describeHosts adds what cluster templates need to know: the network and the image. Nobody checks its sum, but the
// templates want one.
func (e *Environment) describeHosts(ctx context.Context, log io.Writer) error {
	variables := maps.Clone(e.found.variables)
	if variables == nil {
		variables = map[string]string{}
	}
	url := "oci://" + machineimage.Name + binaries.KubernetesVersion
	sum := sha256.Sum256([]byte(url))
	variables["METAL3_IMAGE_URL"], variables["METAL3_IMAGE_CHECKSUM"] = url, hex.EncodeToString(sum[:])
	e.found.variables = variables
	return e.describeNetwork(ctx, log)
}

// SetHostFault makes a fault of the simulated hosts, or mends it.
func (e *Environment) SetHostFault(ctx context.Context, fault string, present bool) error {
	host, err := e.docker(io.Discard).Run(ctx, "inspect", "--format",
		"{{(index .NetworkSettings.Networks \""+cluster.Network+"\").IPAddress}}", e.operator())
	if err != nil || host == "" {
		return errors.Join(errors.New("the simulated bare-metal operator is not up"), err)
	}
	return setFault(ctx, "http://"+net.JoinHostPort(host, controlPort), fault, present)
}

// StopOperator ends the simulated bare-metal operator. Hosts stay as they are until StartOperator.
func (e *Environment) StopOperator(ctx context.Context) error {
	_, err := e.docker(io.Discard).Run(ctx, "stop", e.operator())
	return err
}

// StartOperator runs the operator again that was stopped.
func (e *Environment) StartOperator(ctx context.Context) error {
	_, err := e.docker(io.Discard).Run(ctx, "start", e.operator())
	return err
}
