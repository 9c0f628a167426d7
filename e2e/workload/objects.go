// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"maps"
	"net"
	"runtime"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/container"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	etcdRole         = "node-role.kubernetes.io/etcd" // only of RKE2

	componentLabel = "component"
	tierLabel      = "tier"
	controlPlane   = "control-plane"

	etcdComponent      = "etcd"
	apiServerComponent = "kube-apiserver"

	// The versions in the static pods. Nothing runs, so they only need to be plausible.
	etcdImage    = "registry.k8s.io/etcd:3.6.14-0"
	corednsImage = "registry.k8s.io/coredns/coredns:v1.14.2"

	corefile = ".:53 {\n    errors\n    health\n    ready\n    kubernetes cluster.local in-addr.arpa ip6.arpa\n    forward . /etc/resolv.conf\n    cache 30\n}\n"
)

// staticComponents returns the static pods of a control-plane node.
func staticComponents() []string {
	return []string{etcdComponent, apiServerComponent, "kube-controller-manager", "kube-scheduler"}
}

// staticPodName returns the kubelet's name of a static pod.
func staticPodName(component, node string) string { return component + "-" + node }

// staticPod returns a static pod without content.
func staticPod(component, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: staticPodName(component, node)}}
}

// newNode returns the Node that the kubelet of a machine registers.
func newNode(m machine) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.nodeName,
			UID:  uuid.NewUUID(),
			Labels: map[string]string{
				corev1.LabelHostname:   m.nodeName,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: runtime.GOARCH,
			},
		},
		Spec: corev1.NodeSpec{ProviderID: m.providerID},
		Status: corev1.NodeStatus{
			Capacity:    nodeResources(),
			Allocatable: nodeResources(),
			Addresses:   nodeAddresses(m),
			NodeInfo: corev1.NodeSystemInfo{
				MachineID:               string(uuid.NewUUID()),
				SystemUUID:              string(uuid.NewUUID()),
				BootID:                  string(uuid.NewUUID()),
				OSImage:                 "Simulated Linux",
				KernelVersion:           "6.12.0",
				ContainerRuntimeVersion: "containerd://2.3.4",
				KubeletVersion:          m.version,
				OperatingSystem:         "linux",
				Architecture:            runtime.GOARCH,
			},
		},
	}
	maps.Copy(node.Labels, m.labels)
	setNodeConditions(node, true, time.Now())
	switch {
	case m.controlPlane && m.rke2:
		node.Labels[controlPlaneRole], node.Labels[etcdRole] = "true", "true"
	case m.controlPlane:
		node.Labels[controlPlaneRole] = ""
		node.Spec.Taints = []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
	}
	return node
}

func nodeResources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("2"),
		corev1.ResourceMemory: resource.MustParse("4Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
}

func nodeAddresses(m machine) []corev1.NodeAddress {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.nodeName}}
	for _, a := range m.addresses {
		if a.Type != clusterv1.MachineHostName {
			addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
		}
	}
	return addresses
}

// setNodeConditions sets the conditions that the kubelet reports while it runs, or those that the node controller sets when it stops
// reporting.
func setNodeConditions(node *corev1.Node, running bool, now time.Time) {
	node.Status.Conditions = nil
	for _, condition := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
	} {
		if !running {
			condition.Status, condition.Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
			condition.Message = "Kubelet stopped posting node status."
		}
		condition.LastHeartbeatTime, condition.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
		node.Status.Conditions = append(node.Status.Conditions, condition)
	}
}

// newStaticPod returns the mirror pod of a static pod of kubeadm. Without the mirror annotation, draining the node would try to evict it.
func newStaticPod(component string, m machine) *corev1.Pod {
	image := etcdImage
	if component != etcdComponent {
		image = fmt.Sprintf("registry.k8s.io/%s:%s", component, container.SemverToOCIImageTag(m.version))
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem,
			Name:      staticPodName(component, m.nodeName),
			UID:       uuid.NewUUID(),
			Labels:    map[string]string{componentLabel: component, tierLabel: controlPlane},
			Annotations: map[string]string{
				corev1.MirrorPodAnnotationKey: string(uuid.NewUUID()),
			},
		},
		Spec: corev1.PodSpec{
			NodeName:          m.nodeName,
			HostNetwork:       true,
			PriorityClassName: "system-node-critical",
			Containers:        []corev1.Container{{Name: component, Image: image}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	setPodConditions(pod, true, time.Now())
	return pod
}

func setPodConditions(pod *corev1.Pod, ready bool, now time.Time) {
	status := corev1.ConditionTrue
	if !ready {
		status = corev1.ConditionFalse
	}
	pod.Status.Conditions = nil
	for _, condition := range []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: status},
		{Type: corev1.PodReady, Status: status},
	} {
		condition.LastTransitionTime = metav1.NewTime(now)
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
	}
}

// newNamespaces returns the namespaces that every cluster has from the start.
func newNamespaces() []client.Object {
	var objects []client.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespacePublic, metav1.NamespaceSystem, corev1.NamespaceNodeLease} {
		objects = append(objects, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: uuid.NewUUID(), Labels: map[string]string{corev1.LabelMetadataName: name}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		})
	}
	return objects
}

// kubeadmObjects returns the objects that `kubeadm init` creates and Cluster API changes: its configuration and the two add-ons.
func kubeadmObjects(c *cluster, version string) []client.Object {
	return []client.Object{
		&corev1.ConfigMap{
			ObjectMeta: system("kubeadm-config"),
			Data:       map[string]string{"ClusterConfiguration": kubeadmConfiguration(c, version)},
		},
		&appsv1.DaemonSet{
			ObjectMeta: system("kube-proxy"),
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-proxy"}},
				Template: podTemplate("kube-proxy", "kube-proxy", "registry.k8s.io/kube-proxy:"+container.SemverToOCIImageTag(version)),
			},
		},
		&corev1.ConfigMap{ObjectMeta: system("coredns"), Data: map[string]string{"Corefile": corefile}},
		&appsv1.Deployment{
			ObjectMeta: system("coredns"),
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-dns"}},
				Template: podTemplate("kube-dns", "coredns", corednsImage),
			},
		},
	}
}

func system(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, UID: uuid.NewUUID()}
}

func kubeadmConfiguration(c *cluster, version string) string {
	return fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: %s\ncontrolPlaneEndpoint: %q\nkubernetesVersion: %s\n",
		c.key.Name, net.JoinHostPort(c.host, strconv.Itoa(c.port)), version)
}

func podTemplate(app, name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"k8s-app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}},
	}
}
