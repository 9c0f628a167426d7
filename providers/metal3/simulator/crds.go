// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"embed"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/faultline-io/faultline/shared/simulation"
)

// moveLabel makes clusterctl move include an object.
const moveLabel = "clusterctl.cluster.x-k8s.io/move"

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs returns the CRDs of the metal3 kinds that do not belong to this provider: BareMetalHost, HardwareData, and the kinds of
// the IP address manager.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := simulation.CRDs(crdFiles)
	for _, crd := range crds {
		if labels := moves()[crd.Spec.Names.Kind]; labels != nil {
			crd.Labels = labels
		}
	}
	return crds, err
}

// moves returns the labels that make clusterctl move include kinds not owned by a Cluster: hosts, with everything they own.
func moves() map[string]map[string]string {
	const known = "clusterctl.cluster.x-k8s.io"
	return map[string]map[string]string{
		"BareMetalHost": {known: "", moveLabel + "-hierarchy": ""},
		"HardwareData":  {known: ""},
	}
}
