// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"maps"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Create creates objects. It retries while a webhook server is still starting.
func (u User) Create(objects ...client.Object) {
	u.T.Helper()
	for _, o := range objects {
		var err error
		u.G.Eventually(func() bool {
			err = u.Client.Create(u.T.Context(), o)
			return apierrors.IsInternalError(err)
		}).Should(gomega.BeFalse(), func() string { return fmt.Sprintf("creating %T %s: %v", o, o.GetName(), err) })
		u.G.Expect(err).NotTo(gomega.HaveOccurred(), "creating %T %s", o, o.GetName())
	}
}

// Cluster creates a Cluster with provisioned infrastructure and the name of its infrastructure cluster, and the infrastructure
// cluster.
func (u User) Cluster(infra client.Object, changes ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	u.T.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: like(infra), Spec: clusterv1.ClusterSpec{
		InfrastructureRef:    u.reference(infra),
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	for _, change := range changes {
		change(cluster)
	}
	u.Create(cluster)
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	u.G.Expect(u.Client.Status().Update(u.T.Context(), cluster)).To(gomega.Succeed())
	of(infra, cluster.Name)
	infra.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID,
	}})
	u.Create(infra)
	return cluster
}

// Kubeconfig creates the Secret with the kubeconfig of a Cluster.
func (u User) Kubeconfig(namespace, cluster string, kubeconfig []byte) {
	u.T.Helper()
	u.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig}})
}

// Machine creates a Machine with the name and labels of its infrastructure machine, its bootstrap data unless the test has
// created its own, and the infrastructure machine. changes may change the Machine.
func (u User) Machine(cluster, domain string, infra client.Object, changes ...func(*clusterv1.Machine)) *clusterv1.Machine {
	u.T.Helper()
	of(infra, cluster)
	machine := &clusterv1.Machine{ObjectMeta: like(infra), Spec: clusterv1.MachineSpec{
		ClusterName: cluster, FailureDomain: domain,
		Bootstrap: clusterv1.Bootstrap{
			DataSecretName: ptr.To(infra.GetName()),
			ConfigRef:      clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: infra.GetName()},
		},
		InfrastructureRef: u.reference(infra),
	}}
	for _, change := range changes {
		change(machine)
	}
	data := &corev1.Secret{ObjectMeta: like(infra), StringData: map[string]string{"value": "#cloud-config\n", "format": "cloud-config"}}
	u.G.Expect(client.IgnoreAlreadyExists(u.Client.Create(u.T.Context(), data))).To(gomega.Succeed())
	u.Create(machine)
	infra.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID, Controller: ptr.To(true),
	}})
	u.Create(infra)
	return machine
}

// MachineDeployment creates a MachineDeployment of a cluster. It has the name and labels of an infrastructure machine, and
// machines of that kind.
func (u User) MachineDeployment(cluster string, replicas int32, infra client.Object) *clusterv1.MachineDeployment {
	u.T.Helper()
	of(infra, cluster)
	members := map[string]string{clusterv1.MachineDeploymentNameLabel: infra.GetName()}
	md := &clusterv1.MachineDeployment{ObjectMeta: like(infra), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: cluster, Replicas: ptr.To(replicas), Selector: metav1.LabelSelector{MatchLabels: members},
		Template: clusterv1.MachineTemplateSpec{ObjectMeta: clusterv1.ObjectMeta{Labels: members}, Spec: clusterv1.MachineSpec{
			ClusterName: cluster, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}, InfrastructureRef: u.reference(infra),
		}},
	}}
	u.Create(md)
	return md
}

// Delete deletes an infrastructure machine with its Machine, as Cluster API would, and waits until the infrastructure machine is
// deleted.
func (u User) Delete(infra client.Object) {
	u.T.Helper()
	u.G.Expect(u.Client.Delete(u.T.Context(), infra)).To(gomega.Succeed())
	u.WaitForDeletion(infra)
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: infra.GetNamespace(), Name: infra.GetName()}}
	u.G.Expect(client.IgnoreNotFound(u.Client.Delete(u.T.Context(), machine))).To(gomega.Succeed())
}

// like returns metadata with the namespace, name and labels of an object.
func like(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: maps.Clone(o.GetLabels())}
}

// of labels an object with the name of its cluster.
func of(o client.Object, cluster string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = cluster
	o.SetLabels(labels)
}

// reference returns Cluster API's reference to an object of a provider.
func (u User) reference(o client.Object) clusterv1.ContractVersionedObjectReference {
	u.T.Helper()
	gvk, err := apiutil.GVKForObject(o, u.Client.Scheme())
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	return clusterv1.ContractVersionedObjectReference{APIGroup: gvk.Group, Kind: gvk.Kind, Name: o.GetName()}
}
