// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// FirstWrites tests how a manager backs off while its first writes of an infrastructure machine fail. The machine exists before the
// manager starts. Tests must not run in parallel with others whose objects enqueue the machine.
type FirstWrites struct {
	User

	// Admin has administrator credentials.
	Admin *rest.Config
	// Machine gets the Finalizer from the manager.
	Machine   Conditioned
	Finalizer string
	// Start starts the manager with a configuration.
	Start func(*rest.Config)
	// ExpectNothing expects that the manager has created or claimed nothing for the machine.
	ExpectNothing func()
	// WaitForProvisioned waits until the machine is provisioned.
	WaitForProvisioned func()
}

// Stripped makes the API server drop the finalizer. The machine must report it, and must not be provisioned before the finalizer is kept.
func (f FirstWrites) Stripped() {
	f.T.Helper()
	keep := f.Strip(f.Machine, f.Finalizer)
	writes, config := f.Writes(f.Admin)
	f.Start(config)
	writes.WaitForBackoff(f.Machine)
	message := f.Condition(f.Machine, faultlinev1.MetadataKeptCondition, faultlinev1.ReasonAnnotationsRemoved)
	f.G.Expect(message).To(gomega.ContainSubstring("does not store the finalizer " + f.Finalizer))
	f.ExpectNothing()
	keep()
	f.WaitForProvisioned()
	f.G.Eventually(func(g gomega.Gomega) {
		g.Expect(f.Client.Get(f.T.Context(), client.ObjectKeyFromObject(f.Machine), f.Machine)).To(gomega.Succeed())
		g.Expect(f.Machine.GetFinalizers()).To(gomega.ContainElement(f.Finalizer))
		g.Expect(conditions.Has(f.Machine, faultlinev1.MetadataKeptCondition)).To(gomega.BeFalse())
	}).Should(gomega.Succeed())
}

// Conflicting makes all writes of the machine conflict for a while.
func (f FirstWrites) Conflicting() {
	f.T.Helper()
	writes, config := f.Writes(f.Admin)
	writes.Conflict(f.Machine)
	f.Start(config)
	writes.WaitForBackoff(f.Machine)
	writes.Conflict()
	f.WaitForProvisioned()
}
