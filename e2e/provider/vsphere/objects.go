// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// zoneLabel is the label of zones with the name of their cluster.
	zoneLabel = "faultline.io/cluster"
	// datacenterName is the datacenter of the simulator's layouts.
	datacenterName = "dc-1"
	// accountSecret is the Secret with the account for the vCenter.
	accountSecret = "account"
)

// createCluster creates a cluster without zones on a vCenter. Zones labelled with its name become its failure domains, also those on
// the additional vCenters.
func createCluster(ctx context.Context, api client.Client, name string, vcenter *simulator.Server, additional ...*simulator.Server) (*provider.Cluster, error) {
	c := &provider.Cluster{Name: name, Kind: "VSphere"}
	if err := c.Create(ctx, api); err != nil {
		return nil, err
	}
	infra := &infrav1.VSphereCluster{ObjectMeta: c.Meta(name), Spec: infrav1.VSphereClusterSpec{
		Server: vcenter.Host(), Thumbprint: vcenter.Thumbprint(),
		IdentityRef:           infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: accountSecret},
		ControlPlaneEndpoint:  infrav1.APIEndpoint{Host: provider.Endpoint().Host, Port: provider.Endpoint().Port},
		FailureDomainSelector: &metav1.LabelSelector{MatchLabels: zoneLabels(name)},
	}}
	for _, other := range additional {
		infra.Spec.AdditionalServers = append(infra.Spec.AdditionalServers, other.Host())
	}
	infra.OwnerReferences = []metav1.OwnerReference{c.Owner}
	credentials := &corev1.Secret{ObjectMeta: c.Meta(accountSecret), StringData: map[string]string{
		"username": vcenter.Username(), "password": vcenter.Password(),
	}}
	return c, provider.Create(ctx, api, credentials, infra)
}

// zoneLabels returns the labels of a cluster's zones.
func zoneLabels(cluster string) map[string]string { return map[string]string{zoneLabel: cluster} }

// newZone returns a new VSphereDeploymentZone for a cluster and its VSphereFailureDomain.
func newZone(c *provider.Cluster, name string, vcenter *simulator.Server, domain infrav1.VSphereFailureDomainSpec) (*infrav1.VSphereFailureDomain, *infrav1.VSphereDeploymentZone) {
	meta := metav1.ObjectMeta{Name: name, Labels: zoneLabels(c.Name)}
	return &infrav1.VSphereFailureDomain{ObjectMeta: meta, Spec: domain},
		&infrav1.VSphereDeploymentZone{ObjectMeta: *meta.DeepCopy(), Spec: infrav1.VSphereDeploymentZoneSpec{
			Server: vcenter.Host(), Thumbprint: vcenter.Thumbprint(), FailureDomain: name,
		}}
}

// newMachine returns a machine that is cloned from the simulator's template.
func newMachine(meta metav1.ObjectMeta) *infrav1.VSphereMachine {
	return &infrav1.VSphereMachine{ObjectMeta: meta, Spec: infrav1.VSphereMachineSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: simulator.TemplateName, Folder: "workload",
			Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: simulator.NetworkName, DHCP4: new(true)}}},
		},
	}}
}
