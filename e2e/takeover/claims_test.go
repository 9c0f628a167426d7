//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
)

const (
	// pooled is the MachineDeployment whose machines have addresses of a pool, and pooledMachines its initial number of machines.
	pooled         = "claimed"
	pooledMachines = 2
)

//go:embed claimed.yaml
var claimedYAML []byte

// createPooled adds workers with addresses of a pool and disks with a storage policy. It needs a provider for the pool.
func (c Cluster) createPooled(ctx context.Context) error {
	return c.create(ctx, claimedYAML, map[string]string{"SERVER": c.VCenter.host(), "TEMPLATE": template, "VERSION": binaries.KubernetesVersion})
}

// claimed returns what is missing until each of those machines has the address of its claim, and no other claims exist.
func (c Cluster) claimed(ctx context.Context) (missing string, err error) {
	now, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	machines := 0
	for name, machine := range now.VMs {
		if !strings.HasPrefix(name, pooled+"-") {
			continue
		}
		machines++
		own := now.Claims[name+"-0-0"]
		if own.Address == "" || machine.Address != own.Address || machine.Static != own.Address+"/24" {
			return fmt.Sprintf("%s has the address of its claim: %+v, %+v", name, machine, own), nil
		}
	}
	if len(now.Claims) != machines {
		return fmt.Sprintf("%d claims, found %d", machines, len(now.Claims)), nil
	}
	return c.used(ctx, machines)
}

// used returns what is missing until count addresses of the pool are in use.
func (m Managed) used(ctx context.Context, count int) (missing string, err error) {
	pool := newPool()
	if err := m.Client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
		return "", err
	}
	used, _, err := unstructured.NestedInt64(pool.Object, "status", "ipAddresses", "used")
	if used != int64(count) {
		return fmt.Sprintf("%d addresses of the pool in use, found %d", count, used), err
	}
	return "", err
}

// poolGone returns what is left of the pool, which is deleted once none of its addresses is in use.
func (m Managed) poolGone(ctx context.Context) (missing string, err error) {
	for _, kind := range []string{"IPAddressClaim", "IPAddress"} {
		left, err := m.listOf(ctx, ipamGroup, "v1beta2", kind)
		if len(left) > 0 || err != nil {
			return fmt.Sprintf("deletion of %d %s", len(left), kind), err
		}
	}
	err = m.Client.Delete(ctx, newPool())
	if !apierrors.IsNotFound(err) {
		return "deletion of the pool", err
	}
	return "", nil
}

func newPool() *unstructured.Unstructured {
	pool := &unstructured.Unstructured{}
	pool.SetAPIVersion(ipamGroup + "/v1alpha2")
	pool.SetKind("InClusterIPPool")
	pool.SetNamespace(Namespace)
	pool.SetName(name)
	return pool
}
