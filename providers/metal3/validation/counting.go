// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	shared "github.com/faultline-io/faultline/shared/provider"
)

// Capabilities returns capabilities that count suitable hosts as the manager does. The reader need not be a cache: each count
// lists the hosts of a namespace in a single request.
func Capabilities(reader client.Reader) shared.Capabilities {
	return placement.Metal3{Client: reader}.Capabilities()
}

// AddToScheme adds the kinds that are read to the scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(infrav1.AddToScheme(scheme), bmov1alpha1.AddToScheme(scheme))
}
