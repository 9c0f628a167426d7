// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
)

// creators is the number of hosts created in parallel.
const creators = 16

// conflictBackoff returns a backoff that outlasts the few writes that a running simulator makes to one host.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 20, Cap: time.Second}
}

// Create creates the hosts of a layout with their BMC Secrets. Existing Secrets, of deleted hosts, are reused; existing hosts are
// not changed.
func Create(ctx context.Context, c client.Client, namespace string, layout Layout) error {
	hosts := layout.Hosts(namespace)
	failed := make([]error, len(hosts))
	workqueue.ParallelizeUntil(ctx, creators, len(hosts), func(i int) {
		if err := create(ctx, c, &hosts[i], layout.Ready); err != nil {
			failed[i] = fmt.Errorf("creating host %s: %w", hosts[i].Name, err)
		}
	})
	return errors.Join(append(failed, ctx.Err())...)
}

func create(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost, ready bool) error {
	version := ""
	if host.Spec.BMC.CredentialsName != "" {
		secret := credentials(host)
		if ready {
			secret.Finalizers = []string{operator.SecretFinalizer}
		}
		err := c.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			err = c.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		}
		if err != nil {
			return err
		}
		version = secret.ResourceVersion
	}
	if ready {
		host.Finalizers = append(host.Finalizers, bmov1alpha1.BareMetalHostFinalizer)
		host.Spec.Architecture = cmp.Or(host.Spec.Architecture, operator.StandardHardware(host).CPU.Arch)
	}
	if err := c.Create(ctx, host); err != nil || !ready {
		return client.IgnoreAlreadyExists(err)
	}
	return makeReady(ctx, c, host, version)
}

// makeReady writes the final status of the host. On a conflict with the simulator, it retries from the current status until the
// host may have been claimed: from then on the simulator must report what boots.
func makeReady(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost, secret string) error {
	return retry.OnError(conflictBackoff(), apierrors.IsConflict, func() error {
		if lifecycle.MayBeTaken(host) {
			return nil
		}
		host.Status = lifecycle.Settled(host, secret, operator.StandardHardware(host))
		err := c.Status().Update(ctx, host)
		if apierrors.IsConflict(err) {
			return errors.Join(err, c.Get(ctx, client.ObjectKeyFromObject(host), host))
		}
		return err
	})
}
