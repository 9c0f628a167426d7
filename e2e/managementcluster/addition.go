// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applier is the field manager of Apply, as with kubectl.
const applier = client.FieldOwner("kubectl")

// Apply installs a component on a running cluster, as `kubectl apply --server-side` does: existing objects of the same name and kind are
// taken over, including those of another component. When it returns, the component's manager runs next to the others.
func (p *Cluster) Apply(ctx context.Context, c Component) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not done after %s", startLimit))
	defer cancel()
	m, err := p.prepare(c)
	if err != nil {
		return err
	}
	err = eachObject([]manager{m}, func(object *unstructured.Unstructured) error {
		return p.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), applier, client.ForceOwnership)
	})
	if err != nil {
		return err
	}
	if err := wait.PollUntilContextCancel(ctx, readyEvery, true, p.effective); err != nil {
		return fmt.Errorf("waiting for the CRDs and roles of %s: %w (logs: %s)", c.Name, err, p.Logs())
	}
	return p.run(ctx, m)
}
