// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

// completed adds the settings of the infrastructure and third-party objects to the provider's component.
func completed(c managementcluster.Component, setup provider.Setup, objects []*unstructured.Unstructured) managementcluster.Component {
	c.Args = append(c.Args, setup.ManagerArgs...)
	c.Objects = append(c.Objects, objects...)
	c.Variables = maps.Clone(c.Variables)
	maps.Copy(c.Variables, setup.ManagerVariables)
	return c
}
