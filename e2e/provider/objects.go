// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreateAtOnce is the number of objects that are created in parallel.
const CreateAtOnce = 8

// infrastructureGroup is the API group of every provider.
const infrastructureGroup = "infrastructure.cluster.x-k8s.io"

// Cluster is a Cluster in a namespace of the same name.
type Cluster struct {
	Name string
	// Kind is the prefix of the infrastructure's kinds, such as VSphere.
	Kind string
	// Owner is the owner reference to the Cluster, once it is created.
	Owner metav1.OwnerReference
	// Deployment is the MachineDeployment of its machines; "" if none.
	Deployment string
}

// Endpoint returns the endpoint of the control plane. Nothing listens there.
func Endpoint() clusterv1.APIEndpoint { return clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443} }

// Meta returns the metadata of an object of the cluster.
func (c *Cluster) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: c.Name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: c.Name}}
}

// Create creates the namespace and the Cluster, in the state that Cluster API sets once its infrastructure is provisioned.
func (c *Cluster) Create(ctx context.Context, api client.Client) error {
	if err := c.CreateUnprovisioned(ctx, api); err != nil {
		return err
	}
	provisioned := client.RawPatch(types.MergePatchType, []byte(`{"status":{"initialization":{"infrastructureProvisioned":true}}}`))
	if err := api.Status().Patch(ctx, &clusterv1.Cluster{ObjectMeta: c.Meta(c.Name)}, provisioned); err != nil {
		return fmt.Errorf("provisioning Cluster %s: %w", c.Name, err)
	}
	return nil
}

// CreateUnprovisioned creates the namespace and the Cluster.
func (c *Cluster) CreateUnprovisioned(ctx context.Context, api client.Client) error {
	cluster := &clusterv1.Cluster{ObjectMeta: c.Meta(c.Name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: c.reference("Cluster", c.Name), ControlPlaneEndpoint: Endpoint(),
	}}
	if err := Create(ctx, api, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, cluster); err != nil {
		return err
	}
	c.Owner = metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: c.Name, UID: cluster.UID}
	return nil
}

// Machine returns a Machine that requests a failure domain, with its bootstrap data. Workload clusters are not simulated: a
// Machine without a bootstrap configuration does not wait for its Node.
func (c *Cluster) Machine(name, domain string) (*clusterv1.Machine, *corev1.Secret) {
	machine := &clusterv1.Machine{ObjectMeta: c.Meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: c.Name, FailureDomain: domain, InfrastructureRef: c.reference("Machine", name),
		Bootstrap: clusterv1.Bootstrap{DataSecretName: &name},
	}}
	machine.OwnerReferences = []metav1.OwnerReference{c.Owner}
	if c.Deployment != "" {
		machine.Labels[clusterv1.MachineDeploymentNameLabel] = c.Deployment
	}
	data := &corev1.Secret{ObjectMeta: c.Meta(name), StringData: map[string]string{"value": "#cloud-config\n", "format": "cloud-config"}}
	return machine, data
}

// CreateMachine creates a Machine with its bootstrap data, and returns the metadata for its infrastructure machine.
func (c *Cluster) CreateMachine(ctx context.Context, api client.Client, name, domain string) (metav1.ObjectMeta, error) {
	machine, data := c.Machine(name, domain)
	if err := Create(ctx, api, data, machine); err != nil {
		return metav1.ObjectMeta{}, err
	}
	meta := c.Meta(name)
	meta.Labels = maps.Clone(machine.Labels)
	meta.OwnerReferences = []metav1.OwnerReference{OwnedBy(machine)}
	return meta, nil
}

// OwnedBy returns the owner reference of an infrastructure machine to its Machine.
func OwnedBy(machine *clusterv1.Machine) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID, Controller: new(true)}
}

// reference returns a reference to the infrastructure of a Cluster or a Machine.
func (c *Cluster) reference(of, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrastructureGroup, Kind: c.Kind + of, Name: name}
}

// Create creates objects one after the other. It retries if a webhook does not respond, because its manager is starting or the machine is
// busy.
func Create(ctx context.Context, api client.Client, objects ...client.Object) error {
	for _, object := range objects {
		if err := Insist(func() error { return api.Create(ctx, object) }); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// Delete deletes an object and waits until it is deleted.
func Delete(ctx context.Context, api client.Client, object client.Object) error {
	if err := Insist(func() error { return client.IgnoreNotFound(api.Delete(ctx, object)) }); err != nil {
		return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
	}
	err := wait.PollUntilContextCancel(ctx, PollInterval, true, func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting for deletion of %T %s, which has finalizers %v: %w", object, object.GetName(), object.GetFinalizers(), Because(ctx, err))
	}
	return nil
}

// webhookLimit bounds how long a webhook may fail to respond: its manager may have been killed and be restarting on a busy machine.
const webhookLimit = 2 * time.Minute

// Insist retries while a webhook does not respond.
func Insist(do func() error) error {
	return retry.OnError(wait.Backoff{Duration: PollInterval, Steps: int(webhookLimit / PollInterval)}, apierrors.IsInternalError, do)
}
