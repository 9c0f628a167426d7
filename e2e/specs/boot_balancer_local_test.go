//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net"
	"net/netip"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// clientReporter is the name of a pod that reports the client's address, and of its other objects.
	clientReporter = "who-asks"
	// tellsPort is an unprivileged port.
	tellsPort = 5353
	// clientAddressCorefile makes CoreDNS answer every query with the client's address.
	clientAddressCorefile = `.:5353 {
    prometheus :9153
    template IN A {
        answer "{{ .Name }} 5 IN A {{ .Remote }}"
    }
}
`
)

// onWorkers returns values for kube-vip: without tolerations it runs on workers.
func onWorkers(election string) map[string]any {
	return map[string]any{"affinity": nil, "tolerations": []any{}, "env": map[string]any{"svc_election": election}}
}

// workerNodes returns the names of the nodes that do not belong to the control plane.
func (t *tenant) workerNodes(ctx context.Context) (first, second string) {
	nodes := &corev1.NodeList{}
	patiently(func() error { return t.List(ctx, nodes) })
	var names []string
	for i := range nodes.Items {
		if _, controls := nodes.Items[i].Labels["node-role.kubernetes.io/control-plane"]; !controls {
			names = append(names, nodes.Items[i].Name)
		}
	}
	Expect(names).To(HaveLen(2))
	return names[0], names[1]
}

// reportClientAddress runs a pod on a node that reports the client's address. It is the cluster's CoreDNS, because it already
// exists and no other image can be pulled.
func (t *tenant) reportClientAddress(ctx context.Context, node string) *corev1.Pod {
	corefile := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: clientReporter}, Data: map[string]string{"Corefile": clientAddressCorefile}}
	t.create(ctx, corefile)
	dns := &appsv1.Deployment{}
	patiently(func() error {
		return t.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "coredns"}, dns)
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: corefile.Namespace, Name: clientReporter + "-" + node, Labels: map[string]string{"app": clientReporter}},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers: []corev1.Container{{
				Name: clientReporter, Image: dns.Spec.Template.Spec.Containers[0].Image, Args: []string{"-conf", "/etc/coredns/Corefile"},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/coredns"}},
			}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: corefile.Name}},
			}}},
		},
	}
	t.create(ctx, pod)
	return pod
}

// exposeLocally creates a Service for those pods that preserves the client's address.
func (t *tenant) exposeLocally(ctx context.Context) *corev1.Service {
	service := balanced(clientReporter, inNetwork(), dnsOverTCP, dnsOverUDP, dnsMetrics)
	service.Namespace, service.Spec.Selector = metav1.NamespaceDefault, map[string]string{"app": clientReporter}
	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	for i := range service.Spec.Ports {
		if port := &service.Spec.Ports[i]; port.Port == dnsOverTCP.Port {
			port.TargetPort = intstr.FromInt32(tellsPort)
		}
	}
	t.create(ctx, service)
	return service
}

// answersThrough waits until only this node has an address, and clients of the Service's ports there get their own address as answer.
func (t *tenant) answersThrough(ctx context.Context, spec, address, node string) {
	within := config.GetIntervals(spec, "wait-load-balancer")
	Eventually(func(g Gomega) { g.Expect(t.hosts(ctx, g, address)).To(HaveExactElements(node)) }, within...).Should(Succeed(), "%s has %s", node, address)
	for _, network := range []string{"tcp", "udp"} {
		Eventually(func(g Gomega) {
			found, err := lookUp(ctx, network, address, t.name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(HaveExactElements(HaveField("Unmap()", own(ctx, g, address))))
		}, within...).Should(Succeed(), "%s answers over %s with the address of the client", address, network)
	}
	Eventually(func() (string, error) { return fetchMetrics(ctx, address) }, within...).Should(ContainSubstring("coredns_build_info"))
}

// own returns this machine's source address for connections to an address.
func own(ctx context.Context, g Gomega, address string) netip.Addr {
	connection, err := new(net.Dialer).DialContext(ctx, "udp", net.JoinHostPort(address, "53"))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(connection.Close()).To(Succeed()) }()
	return connection.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}
