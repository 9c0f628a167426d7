// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs returns the CRDs of the kinds that a Harvester cluster adds to Kubernetes.
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
		out = append(out, crd)
	}
	return out, nil
}
