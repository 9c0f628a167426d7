// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/faultline-io/faultline/e2e/machinecontainers"
	"github.com/faultline-io/faultline/e2e/provider"
)

const separator = "\n---\n"

// bootable adapts a cluster template or a ClusterClass to machines that are containers: it configures what the simulated vCenter runs,
// and removes the cloud provider and the CSI driver, whose images are not available. Variables stay variables.
func bootable(template []byte, keys map[string]string) ([]byte, error) {
	var objects []string
	for object := range strings.SplitSeq(string(template), separator) {
		var err error
		switch kindOf(object) {
		case "ClusterResourceSet":
			continue
		case "VSphereMachineTemplate":
			object, err = edited(object, func(root *yaml.RNode) error { return setKeys(root, keys) })
		case "ClusterClass":
			object, err = edited(object, func(root *yaml.RNode) error { return patchKeys(root, keys) })
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return []byte(strings.TrimSuffix(strings.Join(objects, separator), "\n") + "\n"), nil
}

// kindOf does not parse the object, because an object with unset variables need not be valid YAML.
func kindOf(object string) string {
	found := regexp.MustCompile(`(?m)^kind: (\S+)$`).FindStringSubmatch(object)
	if found == nil {
		return ""
	}
	return found[1]
}

func edited(object string, edit func(*yaml.RNode) error) (string, error) {
	root, err := yaml.Parse(object)
	if err != nil {
		return "", fmt.Errorf("reading a %s: %w", kindOf(object), err)
	}
	if err := edit(root); err != nil {
		return "", fmt.Errorf("changing a %s: %w", kindOf(object), err)
	}
	out, err := root.String()
	return strings.TrimSuffix(out, "\n"), err
}

func setKeys(template *yaml.RNode, keys map[string]string) error {
	have, err := template.Pipe(yaml.LookupCreate(yaml.MappingNode, "spec", "template", "spec", "customVMXKeys"))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if err := have.PipeE(yaml.SetField(name, yaml.NewStringRNode(keys[name]))); err != nil {
			return err
		}
	}
	return nil
}

// patchKeys adds a patch to a ClusterClass, after those that replace whole machine templates.
func patchKeys(class *yaml.RNode, keys map[string]string) error {
	workers, err := class.Pipe(yaml.Lookup("spec", "workers", "machineDeployments"))
	if err != nil {
		return err
	}
	names, err := workers.ElementValues("class")
	if err != nil {
		return err
	}
	patch, err := yaml.FromMap(map[string]any{
		"name": "containers",
		"definitions": []any{map[string]any{
			"selector": map[string]any{
				"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "VSphereMachineTemplate",
				"matchResources": map[string]any{"controlPlane": true, "machineDeploymentClass": map[string]any{"names": names}},
			},
			"jsonPatches": []any{map[string]any{"op": "add", "path": "/spec/template/spec/customVMXKeys", "value": keys}},
		}},
	})
	if err != nil {
		return err
	}
	return class.PipeE(yaml.LookupCreate(yaml.SequenceNode, "spec", "patches"), yaml.Append(patch.YNode()))
}

// FitTemplate configures the container image of virtual machines that boot.
func (Provider) FitTemplate(template []byte, k provider.Kind) ([]byte, error) {
	if k.Machine == "" {
		return template, nil
	}
	keys, err := machineKeys(k)
	if err != nil {
		return nil, err
	}
	return bootable(template, keys)
}

// machineKeys returns the advanced settings that back a virtual machine by a container. They name the simulated vCenter by address,
// because a kind node changes its name server, which breaks name resolution after a restart.
func machineKeys(k provider.Kind) (map[string]string, error) {
	host, _, err := net.SplitHostPort(k.Variables["VSPHERE_SERVER"])
	if err != nil {
		return nil, err
	}
	args := append(machinecontainers.Arguments(k.Label, k.Network), "--env", "FAULTLINE_IDENTITY=http://"+net.JoinHostPort(host, provider.ControlPort), k.Machine)
	run, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return map[string]string{"RUN.container": string(run), "RUN.mountdmi": "false"}, nil
}
