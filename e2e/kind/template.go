// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/kind/cluster"
	"github.com/faultline-io/faultline/e2e/kind/nodeimage"
	"github.com/faultline-io/faultline/e2e/plane"
)

// bootable makes the objects of a cluster template fit for machines that are
// containers: the simulated vCenter is told what to run, and the cloud provider's
// image, which nobody has, is not asked for.
func bootable(objects []*unstructured.Unstructured, keys map[string]string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GetKind() {
		case "ClusterResourceSet":
			continue
		case "VSphereMachineTemplate":
			path := []string{"spec", "template", "spec", "customVMXKeys"}
			have, _, err := unstructured.NestedStringMap(object.Object, path...)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", object.GetName(), err)
			}
			all := map[string]string{}
			maps.Copy(all, have)
			maps.Copy(all, keys)
			if err := unstructured.SetNestedStringMap(object.Object, all, path...); err != nil {
				return nil, fmt.Errorf("changing %s: %w", object.GetName(), err)
			}
		}
		out = append(out, object)
	}
	return out, nil
}

// machineKeys are the advanced settings that back a virtual machine by a container.
// It names the simulated vCenter by address: a kind node rewires its name server, and
// after a restart that is in the way.
func (e *Environment) machineKeys(vcenter, image string) (map[string]string, error) {
	run, err := json.Marshal([]string{
		"--label", environmentLabel + "=" + e.Name,
		"--env", "FAULTLINE_IDENTITY=http://" + net.JoinHostPort(vcenter, controlPort),
		"--privileged", "--cgroupns=private", "--network", cluster.Network,
		"--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var", "--volume", "/lib/modules:/lib/modules:ro",
		// systemd takes its time to stop, and nobody waits for this machine's goodbye.
		"--stop-signal", "SIGKILL", image,
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{"RUN.container": string(run), "RUN.mountdmi": "false"}, nil
}

// Template generates a cluster from a template of the first provider, ready to be
// applied. Its variables are those of the clusterctl configuration, and of the
// environment of this process.
func (e *Environment) Template(ctx context.Context, log io.Writer, name, flavor string) ([]byte, error) {
	version, err := e.builder.Kubernetes(ctx)
	if err != nil {
		return nil, err
	}
	out, err := e.clusterctl(ctx, log, "generate", "cluster", name, "--flavor", flavor,
		"--infrastructure", e.Providers[0], "--kubernetes-version", version)
	if err != nil || !e.Boot {
		return []byte(out), err
	}
	objects, err := plane.Decode([]byte(out))
	if err != nil {
		return nil, err
	}
	vcenter, err := e.describeVCenter(ctx, log)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(vcenter["VSPHERE_SERVER"])
	if err != nil {
		return nil, err
	}
	keys, err := e.machineKeys(host, nodeimage.MachineName+version)
	if err != nil {
		return nil, err
	}
	if objects, err = bootable(objects, keys); err != nil {
		return nil, err
	}
	return encode(objects)
}

func encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(&out, "---\n%s", content)
	}
	return out.Bytes(), nil
}
