//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realautoscaler runs the real cluster autoscaler, with its provider for Cluster API, next to the manager of each of our providers
// and Cluster API's managers. The infrastructure is simulated, and workload clusters are kept in memory. They cannot serve the autoscaler,
// so Pods are objects of the management cluster.
package realautoscaler

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

const (
	// programVariable names the autoscaler's program.
	programVariable = "FAULTLINE_AUTOSCALER"
	// account is the ServiceAccount of the Pods.
	account = "pods"
	// minimum is the annotation of a MachineDeployment with the smallest number of machines.
	minimum = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	// fits is the Pod for which a machine is added.
	fits = "fits"
)

// kubeProxy is the CPU that the autoscaler expects kube-proxy to use on a new Node.
func kubeProxy() resource.Quantity { return resource.MustParse("100m") }

// scaled returns the annotations with which the autoscaler scales a MachineDeployment.
func scaled(least, most int) map[string]string {
	return map[string]string{
		minimum: strconv.Itoa(least),
		"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": strconv.Itoa(most),
	}
}

// capacity returns what a worker of a provider's template has, in the provider's simulation.
func capacity(of string) corev1.ResourceList {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return map[string]corev1.ResourceList{"harvester": list("2", "8Gi"), "metal3": list("32", "64Gi"), "vsphere": list("2", "8Gi")}[of]
}

// fixture is a part of the test of one provider.
type fixture struct {
	*environment.Fixture
	about      provider.Description
	simulation provider.Simulation
	// zone is the failure domain of the MachineDeployment that must grow.
	zone     string
	capacity corev1.ResourceList
}

// TestTheRealAutoscaler runs the same sequence for each provider.
func TestTheRealAutoscaler(t *testing.T) {
	NewWithT(t).Expect(os.Getenv(programVariable)).To(BeAnExistingFile(), programVariable+" must name the program cluster-autoscaler")
	for _, p := range all.Providers[provider.DemoProvider]() {
		about := p.Describe()
		t.Run(about.Name, func(t *testing.T) {
			var simulation provider.Simulation
			environment.Sequence(t, environment.Options{
				Provider: p,
				Infrastructure: func(programs string) (_ provider.Infrastructure, err error) {
					simulation, err = p.Simulate(programs)
					return simulation, err
				},
			}, func(f *environment.Fixture) *fixture {
				return &fixture{Fixture: f, about: about, simulation: simulation, zone: about.Domains[1], capacity: capacity(about.Name)}
			}, []environment.Part[*fixture]{
				{Name: "creates a cluster without workers", Run: (*fixture).create},
				{Name: "adds no machine that is too small", Run: (*fixture).refusesSize},
				{Name: "adds no machine in another zone", Run: (*fixture).refusesZone},
				{Name: "adds the first machine of the right zone", Run: (*fixture).adds},
				{Name: "keeps the machines that Pods need", Run: (*fixture).levelsNothing},
			})
		})
	}
}

// create creates the cluster, lets the autoscaler scale its MachineDeployments, and starts the autoscaler.
func (w *fixture) create(ctx context.Context) {
	template := filepath.Join(w.Root, "templates", w.about.Name, w.about.Template(""))
	for _, object := range w.Objects(template, map[string]string{
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "0", "FAILURE_DOMAIN_WORKERS": "true", "FAILURE_DOMAIN_WORKERS_REBALANCE": "DeleteOne",
	}) {
		if object.GetKind() == "MachineDeployment" {
			annotations := scaled(0, 2)
			maps.Copy(annotations, object.GetAnnotations())
			object.SetAnnotations(annotations)
		}
		w.Expect(w.Client.Create(ctx, object)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
	w.Expect(w.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: environment.Namespace, Name: account}})).To(Succeed())
	w.Go(ctx, "the autoscaler", w.autoscale)
}

// autoscale runs the autoscaler, with a log next to those of the managers.
func (w *fixture) autoscale(ctx context.Context) error {
	log, err := os.Create(filepath.Join(filepath.Dir(w.Management.Kubeconfig), "logs", "cluster-autoscaler.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command := exec.CommandContext(ctx, os.Getenv(programVariable), "--cloud-provider=clusterapi", "--kubeconfig="+w.Management.Kubeconfig,
		"--node-group-auto-discovery=clusterapi:namespace="+environment.Namespace+",clusterName="+environment.Name, "--leader-elect=false",
		"--address=127.0.0.1:0", "--scan-interval=1s", "--scale-down-unneeded-time=5s", "--scale-down-delay-after-add=5s", "--write-status-configmap=false", "--v=4",
		// Hosts may not be inspected in the first loop, which the next event does not repeat otherwise.
		"--record-duplicated-events", "--kube-client-qps=100", "--kube-client-burst=100")
	command.Stdout, command.Stderr = log, log
	return command.Run()
}

func (w *fixture) refusesSize(ctx context.Context) {
	w.refuses(ctx, w.pod(ctx, "large", w.zone, w.capacity), "Insufficient cpu") // kube-proxy needs some of it.
}

func (w *fixture) refusesZone(ctx context.Context) {
	w.refuses(ctx, w.pod(ctx, "elsewhere", "nowhere", w.fitting()), "affinity")
}

func (w *fixture) adds(ctx context.Context) {
	w.pod(ctx, fits, w.zone, w.fitting())
	w.Until(ctx, func(ctx context.Context) (string, error) {
		list := &clusterv1.MachineList{}
		if err := w.Client.List(ctx, list, client.HasLabels{clusterv1.MachineDeploymentNameLabel}); err != nil {
			return "", err
		}
		if len(list.Items) != 1 {
			return fmt.Sprintf("%d workers exist", len(list.Items)), nil
		}
		machine := &list.Items[0]
		if machine.Spec.FailureDomain != w.zone {
			return "", &provider.Violation{Rule: "Machine " + machine.Name + " is for " + machine.Spec.FailureDomain}
		}
		if !conditions.IsTrue(machine, clusterv1.MachineReadyCondition) {
			return "Machine " + machine.Name + " is not ready", nil
		}
		return w.misplaced(ctx, machine.Spec.InfrastructureRef.Name)
	})
	list := &clusterv1.MachineDeploymentList{}
	w.Expect(w.Client.List(ctx, list)).To(Succeed())
	replicas := map[string]int32{}
	for _, md := range list.Items {
		replicas[md.Spec.Template.Spec.FailureDomain] += *md.Spec.Replicas
	}
	w.Expect(len(replicas)).To(BeNumerically(">", 1))
	for zone, count := range replicas {
		if zone != w.zone {
			w.Expect(count).To(BeZero(), zone)
		}
	}
	w.Expect(replicas[w.zone]).To(BeEquivalentTo(1))
}

// misplaced returns what is missing until a machine runs in the zone.
func (w *fixture) misplaced(ctx context.Context, name string) (string, error) {
	placements, err := w.simulation.Machines(ctx)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(placements, func(p provider.Placement) bool { return p.Name == name && p.Domain == w.zone && p.Running }) {
		return fmt.Sprintf("%s does not run in %s: %v", name, w.zone, placements), nil
	}
	return "", nil
}

// fitting returns what a Pod can request that shares a Node with kube-proxy.
func (w *fixture) fitting() corev1.ResourceList {
	list := w.capacity.DeepCopy()
	cpu := list[corev1.ResourceCPU]
	cpu.Sub(kubeProxy())
	list[corev1.ResourceCPU] = cpu
	return list
}

// pod creates a Pod for a zone that no Node can run, as the scheduler reports.
func (w *fixture) pod(ctx context.Context, name, zone string, requests corev1.ResourceList) *corev1.Pod {
	spec := podSpec(requests)
	spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux"}
	return w.createPod(ctx, name, spec, corev1.PodPending,
		corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
}

// podSpec returns the spec of a Pod with one container.
func podSpec(requests corev1.ResourceList) corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName: account, AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: requests}}},
	}
}

// createPod creates a Pod and sets its status, as the scheduler and the kubelet do.
func (w *fixture) createPod(ctx context.Context, name string, spec corev1.PodSpec, phase corev1.PodPhase, scheduled corev1.PodCondition) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: environment.Namespace, Name: name}, Spec: spec}
	w.Expect(w.Client.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase, pod.Status.Conditions = phase, []corev1.PodCondition{scheduled}
	w.Expect(w.Client.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

// refuses waits until the autoscaler reports why it adds no machine for a Pod, and deletes the Pod.
func (w *fixture) refuses(ctx context.Context, pod *corev1.Pod, why string) {
	w.Until(ctx, func(ctx context.Context) (string, error) {
		list := &corev1.EventList{}
		if err := w.Client.List(ctx, list, client.InNamespace(pod.Namespace)); err != nil {
			return "", err
		}
		seen := ""
		for _, event := range list.Items {
			if event.InvolvedObject.UID != pod.UID {
				continue
			}
			if event.Reason == "TriggeredScaleUp" {
				return "", &provider.Violation{Rule: "a machine was added for Pod " + pod.Name + ": " + event.Message}
			}
			seen += event.Reason + ": " + event.Message + "; "
		}
		if !strings.Contains(seen, "NotTriggerScaleUp") || !strings.Contains(seen, why) {
			return fmt.Sprintf("%q in the events %q of Pod %s", why, seen, pod.Name), nil
		}
		return "", nil
	})
	w.Expect(w.Client.Delete(ctx, pod)).To(Succeed())
}
