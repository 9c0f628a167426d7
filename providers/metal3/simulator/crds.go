// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// moveLabel makes clusterctl move include an object.
const moveLabel = "clusterctl.cluster.x-k8s.io/move"

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs returns the CRDs of the metal3 kinds that do not belong to this provider: BareMetalHost, HardwareData, and the kinds of
// the IP address manager.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := crdFiles.ReadDir("crds")
	if err != nil {
		return nil, fmt.Errorf("listing CRDs: %w", err)
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, entry := range entries {
		data, err := crdFiles.ReadFile("crds/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading CRD: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("reading CRD %s: %w", entry.Name(), err)
		}
		if labels := moves()[crd.Spec.Names.Kind]; labels != nil {
			crd.Labels = labels
		}
		out = append(out, crd)
	}
	return out, nil
}

// moves returns the labels that make clusterctl move include kinds not owned by a Cluster: hosts, with everything they own.
func moves() map[string]map[string]string {
	const known = "clusterctl.cluster.x-k8s.io"
	return map[string]map[string]string{
		"BareMetalHost": {known: "", moveLabel + "-hierarchy": ""},
		"HardwareData":  {known: ""},
	}
}
