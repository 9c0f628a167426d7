// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"embed"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/faultline-io/faultline/shared/simulation"
)

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs returns the CRDs of the kinds that a Harvester cluster adds to Kubernetes.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) { return simulation.CRDs(crdFiles) }
