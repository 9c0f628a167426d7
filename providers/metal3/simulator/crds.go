// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// moveLabel lets clusterctl move take an object along.
const moveLabel = "clusterctl.cluster.x-k8s.io/move"

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs returns the definitions of the kinds that metal3 brings from outside of this provider: BareMetalHost, HardwareData,
// and those of its IP address manager.
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

// moves are the labels by which clusterctl move takes kinds along that no Cluster owns: hosts, with all that they own.
func moves() map[string]map[string]string {
	const known = "clusterctl.cluster.x-k8s.io"
	return map[string]map[string]string{
		"BareMetalHost": {known: "", moveLabel + "-hierarchy": ""},
		"HardwareData":  {known: ""},
	}
}
