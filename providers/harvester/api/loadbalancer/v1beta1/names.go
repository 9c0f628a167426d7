// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/types"

const (
	// LoadBalancerFinalizer keeps a load balancer until its Service is gone and its address is given back.
	LoadBalancerFinalizer = "wrangler.cattle.io/harvester-lb-controller"

	// IPPoolFinalizer keeps a pool.
	IPPoolFinalizer = "wrangler.cattle.io/harvester-ipam-controller"

	// VMFinalizer and VMIFinalizer were on every virtual machine and on every instance of one before Faultline. Nothing of Faultline needs them.
	VMFinalizer  = "wrangler.cattle.io/harvester-lb-vm-controller"
	VMIFinalizer = "wrangler.cattle.io/harvester-lb-vmi-controller"
)

const (
	// ServiceLabel is "true" on the Service and on the EndpointSlices of a load balancer.
	ServiceLabel = "loadbalancer.harvesterhci.io/servicelb"

	// ClaimsAnnotation names pools, separated by commas, in which a load balancer may hold an address beside the one in its status: the
	// pool that it is just given one of, and the one that it has to give one back to.
	ClaimsAnnotation = "loadbalancer.harvesterhci.io/claims"
)

// An endpoint that is no machine's is behind a load balancer as long as no machine is that answers. It is known by its UID.
const (
	PlaceholderUID         = types.UID("dummy347-546a-4642-9da6-5608endpoint")
	PlaceholderAddress     = "10.52.0.255"
	PlaceholderIPv6Address = "100::ffff" // of the prefix for what is to be discarded
)
