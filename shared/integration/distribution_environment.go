// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"maps"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider"
)

const (
	// timeout is a deadline for slow machines; it is only reached by a failing test.
	timeout = 2 * time.Minute
	// pollInterval is the polling interval of the tests.
	pollInterval = 50 * time.Millisecond
)

// Environment is a management cluster with the controllers of one provider. The machines of a row exist only as reported by others: the
// provider creates nothing for them, because they have no owner.
type Environment struct {
	Client    client.Client
	Namespace string
	// Labels are set on every object, such as a manager's watch label.
	Labels map[string]string
	// Domains are the names of the three failure domains of each cluster. All are healthy and have capacity for two more
	// machines.
	Domains  [3]string
	Provider provider.Provider
	// Group is the API group of the provider's kinds, ClusterKind and MachineKind are their names.
	Group, ClusterKind, MachineKind string
	// Cluster completes the spec of an infrastructure cluster and adds the failure domains.
	Cluster func(provider.Cluster)
	// Machine completes the spec of an infrastructure machine.
	Machine func(client.Object)
	// Exists sets an infrastructure machine to exist in a failure domain.
	Exists func(machine client.Object, domain string)
	// AcceptsAll is true if no object is rejected, as with a fake client: rows with Refused are then skipped.
	AcceptsAll bool
	// Shown checks further output about a row, such as that of a command; it may be nil.
	Shown func(t *testing.T, o *Objects, says []string)
	// Look makes the controllers reconcile an infrastructure cluster. It may be nil if they are triggered by events.
	Look func(t *testing.T, cluster client.ObjectKey)
}

// Objects holds the objects of one cluster before they are created, with their status.
type Objects struct {
	environment *Environment
	Name        string
	Cluster     *clusterv1.Cluster
	Infra       provider.Cluster
	// ControlPlane and Deployment may be nil.
	ControlPlane *controlplanev1.KubeadmControlPlane
	Deployment   *clusterv1.MachineDeployment
	Machines     []*clusterv1.Machine
	// Infrastructure lists the infrastructure machines in the order of Machines.
	Infrastructure []client.Object
}

// Wanted returns spec.distribution of the infrastructure cluster.
func (o *Objects) Wanted() *faultlinev1.Distribution {
	wanted, _ := o.Infra.Distribution()
	return wanted
}

// Set sets the desired state of failure domains.
func (o *Objects) Set(state faultlinev1.DomainState, domains ...string) {
	for _, domain := range domains {
		o.Wanted().FailureDomains = append(o.Wanted().FailureDomains, faultlinev1.FailureDomainIntent{Name: domain, State: state})
	}
}

func (e *Environment) meta(cluster, name string) metav1.ObjectMeta {
	labels := maps.Clone(e.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = cluster
	return metav1.ObjectMeta{
		Namespace: e.Namespace, Name: name, Labels: labels, Annotations: map[string]string{},
		UID: types.UID(name), Generation: 1, // normally set by an API server
	}
}

// objects returns the objects of a cluster in which only the spread of the machines may be wrong. Layouts are those of a
// Row.
func (e *Environment) objects(name, controlPlane, workers string) *Objects {
	o := &Objects{environment: e, Name: name, Cluster: &clusterv1.Cluster{ObjectMeta: e.meta(name, name)}, Infra: e.Provider.NewCluster()}
	o.Cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: e.Group, Kind: e.ClusterKind, Name: name}
	o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
	o.Cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	setMeta(o.Infra, e.meta(name, name))
	e.Cluster(o.Infra)
	o.Wanted().ControlPlane = faultlinev1.ControlPlaneDistribution{
		Rebalance: faultlinev1.ControlPlaneRebalanceSurgeOne, StabilizationSeconds: ptr.To[int32](0),
	}
	if controlPlane != "" {
		o.addControlPlane(controlPlane)
	}
	if workers != "" {
		o.addWorkers(workers)
	}
	return o
}

func setMeta(object client.Object, meta metav1.ObjectMeta) {
	object.SetNamespace(meta.Namespace)
	object.SetName(meta.Name)
	object.SetLabels(meta.Labels)
	object.SetAnnotations(meta.Annotations)
	object.SetUID(meta.UID)
	object.SetGeneration(meta.Generation)
}

func (o *Objects) addControlPlane(layout string) {
	e := o.environment
	kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: e.meta(o.Name, o.Name)}
	kcp.Spec.Replicas, kcp.Spec.Version = ptr.To(int32(len(layout))), "v1.36.0"
	kcp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: e.Group, Kind: e.MachineKind + "Template", Name: "template"}
	kcp.Status.ObservedGeneration = 1
	for condition, status := range map[string]metav1.ConditionStatus{
		controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition:            metav1.ConditionTrue,
		controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition: metav1.ConditionTrue,
		controlplanev1.KubeadmControlPlaneMachinesUpToDateCondition:              metav1.ConditionTrue,
		controlplanev1.KubeadmControlPlaneRollingOutCondition:                    metav1.ConditionFalse,
	} {
		conditions.Set(kcp, metav1.Condition{Type: condition, Status: status, Reason: "Reason"})
	}
	o.ControlPlane = kcp
	o.Cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: o.Name}
	for i, letter := range layout {
		machine, infra := o.add("cp", i)
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
		infra.GetLabels()[clusterv1.MachineControlPlaneLabel] = ""
		machine.Spec.FailureDomain = o.domain(letter)
	}
}

func (o *Objects) addWorkers(layout string) {
	e := o.environment
	o.Wanted().Workers = faultlinev1.WorkersDistribution{Enabled: ptr.To(true), Rebalance: faultlinev1.WorkersRebalanceDeleteOne}
	md, name, replicas := &clusterv1.MachineDeployment{ObjectMeta: e.meta(o.Name, o.Name+"-md")}, o.Name+"-md", ptr.To(int32(len(layout)))
	md.Spec = clusterv1.MachineDeploymentSpec{
		ClusterName: o.Name, Replicas: replicas, Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: name}},
	}
	md.Spec.Template.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: name}
	md.Spec.Template.Spec = o.machineSpec("template")
	md.Status.ObservedGeneration, md.Status.Replicas, md.Status.AvailableReplicas, md.Status.UpToDateReplicas = 1, replicas, replicas, replicas
	o.Deployment = md
	for i, letter := range layout {
		machine, infra := o.add("md", i)
		machine.Labels[clusterv1.MachineDeploymentNameLabel], machine.Labels[clusterv1.MachineSetNameLabel] = name, name
		infra.GetLabels()[clusterv1.MachineDeploymentNameLabel] = name
		if letter != '-' {
			o.environment.Exists(infra, o.domain(letter))
		}
	}
}

// domain returns the failure domain of a letter.
func (o *Objects) domain(letter rune) string { return o.environment.Domains[letter-'a'] }

// add adds a healthy machine with a Node.
func (o *Objects) add(role string, i int) (*clusterv1.Machine, client.Object) {
	e := o.environment
	name := o.Name + "-" + role + "-" + string(rune('0'+i))
	machine := &clusterv1.Machine{ObjectMeta: e.meta(o.Name, name), Spec: o.machineSpec(name)}
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
	machine.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	for _, condition := range []string{clusterv1.MachineReadyCondition, clusterv1.MachineUpToDateCondition} {
		conditions.Set(machine, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Reason"})
	}
	infra := e.Provider.NewMachine()
	meta := e.meta(o.Name, name)
	meta.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "template"
	meta.Annotations[clusterv1.TemplateClonedFromGroupKindAnnotation] = e.MachineKind + "Template." + e.Group
	setMeta(infra, meta)
	e.Machine(infra)
	o.Machines, o.Infrastructure = append(o.Machines, machine), append(o.Infrastructure, infra)
	return machine, infra
}

func (o *Objects) machineSpec(name string) clusterv1.MachineSpec {
	return clusterv1.MachineSpec{
		ClusterName: o.Name, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: o.environment.Group, Kind: o.environment.MachineKind, Name: name},
	}
}

// create creates an object with its status.
func (e *Environment) create(t *testing.T, object client.Object) {
	t.Helper()
	g := gomega.NewWithT(t)
	wanted := object.DeepCopyObject().(client.Object)
	g.Expect(e.Client.Create(t.Context(), object)).To(gomega.Succeed(), "creating %T %s", object, object.GetName())
	before := object.DeepCopyObject().(client.Object)
	wanted.SetUID(object.GetUID())
	wanted.SetResourceVersion(object.GetResourceVersion())
	wanted.SetGeneration(object.GetGeneration())
	wanted.SetCreationTimestamp(object.GetCreationTimestamp())
	g.Expect(e.Client.Status().Patch(t.Context(), wanted, client.MergeFrom(before))).To(gomega.Succeed(), "reporting on %T %s", object, object.GetName())
}

// createAll creates the objects in an order in which no controller can mistake a part for the whole: Cluster API lists the
// failure domains last, and before that no control plane is changed.
func (o *Objects) createAll(t *testing.T) {
	t.Helper()
	e := o.environment
	e.create(t, o.Cluster)
	o.own()
	e.create(t, o.Infra)
	if o.ControlPlane != nil {
		e.create(t, o.ControlPlane)
	}
	for i, machine := range o.Machines {
		e.create(t, o.Infrastructure[i])
		e.create(t, machine)
	}
	if o.Deployment != nil {
		e.create(t, o.Deployment)
	}
	o.eventually(t, func(g gomega.Gomega) {
		_, known := o.Infra.Distribution()
		g.Expect(known.FailureDomains).To(gomega.HaveLen(len(e.Domains)), "%s", Describe(o.Infra))
	})
	cluster := &clusterv1.Cluster{ObjectMeta: o.Cluster.ObjectMeta}
	before := cluster.DeepCopy()
	cluster.Status.FailureDomains = *o.Infra.FailureDomains()
	gomega.NewWithT(t).Expect(e.Client.Status().Patch(t.Context(), cluster, client.MergeFrom(before))).To(gomega.Succeed())
}

// own makes the Cluster the owner of the infrastructure cluster.
func (o *Objects) own() {
	o.Infra.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: o.Name, UID: o.Cluster.UID,
	}})
}

// eventually waits until a check of the infrastructure cluster, which is read each time, holds.
func (o *Objects) eventually(t *testing.T, holds func(gomega.Gomega)) {
	t.Helper()
	key := client.ObjectKeyFromObject(o.Infra)
	gomega.NewWithT(t).Eventually(func(g gomega.Gomega) {
		if o.environment.Look != nil {
			o.environment.Look(t, key)
		}
		g.Expect(o.environment.Client.Get(t.Context(), key, o.Infra)).To(gomega.Succeed())
		holds(g)
	}).WithTimeout(timeout).WithPolling(pollInterval).Should(gomega.Succeed())
}
