// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
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
	for _, namespaces := range []bool{true, false} {
		if err := p.applyObjects(ctx, m, namespaces); err != nil {
			return err
		}
	}
	if err := wait.PollUntilContextCancel(ctx, readyEvery, true, p.effective); err != nil {
		return fmt.Errorf("waiting for the CRDs and roles of %s: %w (logs: %s)", c.Name, err, p.Logs())
	}
	return p.run(ctx, m)
}

// applyObjects applies a component's namespaces, or all other objects.
func (p *Cluster) applyObjects(ctx context.Context, m manager, namespaces bool) error {
	var group errgroup.Group
	group.SetLimit(createAtOnce)
	for _, object := range m.manifests.objects {
		if (object.GetKind() == "Namespace") != namespaces {
			continue
		}
		group.Go(func() error { return p.applyOne(ctx, m.component.Name, object) })
	}
	return group.Wait()
}

func (p *Cluster) applyOne(ctx context.Context, component string, object *unstructured.Unstructured) error {
	if err := p.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), applier, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s of %s: %w", object.GetKind(), object.GetName(), component, err)
	}
	return nil
}

// Terminate stops a manager gracefully, as the kubelet does with a replaced pod, and returns when it has exited.
func (p *Cluster) Terminate(name string) error {
	process, err := p.withdraw(name)
	if err != nil {
		return err
	}
	process.stop(stopGrace)
	return nil
}
