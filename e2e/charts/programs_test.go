// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package charts_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/e2e/binaries"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/ports"
)

// One API server acts as Harvester and as a cluster on it, with both charts. Their programs run as in the charts: with the arguments of
// the Deployments, and with the permissions of the ServiceAccounts.
func TestChartsProvideNodeAndServiceAddresses(t *testing.T) {
	t.Parallel()
	g := integration.NewGomega(t)
	programs := build(t)
	api := newCluster(t, kindsOfOthers(t)...)
	_, err := api.install(t, namespace, loadBalancer, load(t, loadBalancer), nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = api.install(t, metav1.NamespaceSystem, cloudProvider, load(t, cloudProvider),
		mustParse(t, `{clusterName: red, cloudConfig: {secretName: harvester}, extraArgs: [--v=2]}`))
	g.Expect(err).NotTo(HaveOccurred())
	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1", Labels: map[string]string{corev1.LabelTopologyZone: "zone-1"}}}
	api.node(t, host)
	api.machine(t, "node-1", host.Name, "172.19.1.5")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	node.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	api.node(t, node)

	api.runManager(t, programs[binaries.LoadBalancer])
	api.runCloudProvider(t, programs[binaries.CloudProvider])
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "red"}, Spec: lbv1.IPPoolSpec{
		Ranges:   []lbv1.Range{{Subnet: "172.19.1.0/24", RangeStart: "172.19.1.10", RangeEnd: "172.19.1.20"}},
		Selector: lbv1.Selector{Scope: []lbv1.Tuple{{Namespace: "default", GuestCluster: "red"}}},
	}}
	g.Expect(api.Create(t.Context(), pool)).To(Succeed())
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	g.Expect(api.Create(t.Context(), web)).To(Succeed())

	g.Eventually(func(g Gomega) {
		g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(node), node)).To(Succeed())
		g.Expect(node.Spec.ProviderID).To(HavePrefix("harvester://"))
		g.Expect(node.Spec.Taints).NotTo(ContainElement(HaveField("Key", "node.cloudprovider.kubernetes.io/uninitialized")))
		g.Expect(node.Status.Addresses).To(ContainElement(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "172.19.1.5"}))
	}).Should(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
		g.Expect(web.Annotations).To(HaveKeyWithValue("kube-vip.io/loadbalancerIPs", "172.19.1.10"))
	}).Should(Succeed())
	lease := &coordinationv1.Lease{}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: loadBalancer}, lease)).To(Succeed(), "that of Harvester's own manager")
}

func build(t *testing.T) binaries.Paths {
	t.Helper()
	builder, err := binaries.New(os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := builder.Ensure(t.Context(), binaries.LoadBalancer, binaries.CloudProvider)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// kindsOfOthers returns the CRDs of Harvester, except those of the chart.
func kindsOfOthers(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := simulator.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == lbv1.GroupVersion.Group
	})
}

// node creates a ready Node.
func (c *cluster) node(t *testing.T, node *corev1.Node) {
	t.Helper()
	u := integration.NewUser(t, c)
	u.Create(node)
	integration.Update(u, node, integration.Status, func(node *corev1.Node) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	})
}

// machine creates a running virtual machine.
func (c *cluster) machine(t *testing.T, name, host, address string) {
	t.Helper()
	g := NewWithT(t)
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	g.Expect(c.Create(t.Context(), vm)).To(Succeed())
	vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineGroupVersionKind)},
	}}
	vmi.Spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{
		Name: "nic-1", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}},
	}}
	vmi.Spec.Networks = []kubevirtv1.Network{{
		Name: "nic-1", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/vlan-1"}},
	}}
	g.Expect(c.Create(t.Context(), vmi)).To(Succeed())
	vmi.Status.Phase, vmi.Status.NodeName = kubevirtv1.Running, host
	vmi.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{{Name: "nic-1", IP: address, IPs: []string{address}}}
	if err := c.Status().Update(t.Context(), vmi); err != nil {
		g.Expect(c.Update(t.Context(), vmi)).To(Succeed())
	}
}

// runManager runs the load balancer manager. It is not reachable at the address of its Service, because the test has no pod network.
func (c *cluster) runManager(t *testing.T, program string) {
	t.Helper()
	g := NewWithT(t)
	manager := &appsv1.Deployment{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: loadBalancer}, manager)).To(Succeed())
	trusted := c.admission(t).trusted
	for _, caller := range []client.Object{&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}} {
		caller.SetName(loadBalancer)
		g.Expect(c.Delete(t.Context(), caller)).To(Succeed())
	}
	secret := &corev1.Secret{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: certificate}, secret)).To(Succeed())
	folder := t.TempDir()
	for name, content := range secret.Data {
		g.Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
	}
	port := reserve(t)
	c.run(t, program, manager, "--webhook-port="+strconv.Itoa(port), "--webhook-cert-dir="+folder, "--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0")

	authorities := x509.NewCertPool()
	g.Expect(authorities.AppendCertsFromPEM([]byte(trusted))).To(BeTrue())
	g.Eventually(func() error {
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: authorities, ServerName: service + "." + namespace + ".svc", MinVersion: tls.VersionTLS12}}
		connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(ports.Host, strconv.Itoa(port)))
		if err == nil {
			err = connection.Close()
		}
		return err
	}, timeout).Should(Succeed(), "the certificate is one that callers of the webhooks trust")
}

func (c *cluster) runCloudProvider(t *testing.T, program string) {
	t.Helper()
	g := NewWithT(t)
	provider := &appsv1.Deployment{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: cloudProvider}, provider)).To(Succeed())
	harvester := c.kubeconfig(t, "harvester", "system:masters")
	c.run(t, program, provider, "--kubeconfig="+c.kubeconfigOf(t, provider), "--cloud-config="+harvester, "--secure-port="+strconv.Itoa(reserve(t)))
}

// run runs the program of a Deployment until the test ends, as its ServiceAccount and with its arguments. Additional arguments replace
// settings that only work in a pod.
func (c *cluster) run(t *testing.T, program string, of *appsv1.Deployment, more ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(container(of.Spec.Template.Spec).Args), more...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfigOf(t, of), "POD_NAMESPACE="+of.Namespace)
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", of.Name, output.Bytes()[max(0, output.Len()-16<<10):])
		}
	})
}

func (c *cluster) kubeconfigOf(t *testing.T, of *appsv1.Deployment) string {
	t.Helper()
	return c.kubeconfig(t, "system:serviceaccount:"+of.Namespace+":"+of.Spec.Template.Spec.ServiceAccountName, "system:serviceaccounts", "system:authenticated")
}

// kubeconfig writes a kubeconfig for a user.
func (c *cluster) kubeconfig(t *testing.T, name string, groups ...string) string {
	t.Helper()
	g := NewWithT(t)
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	content, err := user.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	return file
}

func reserve(t *testing.T) int {
	t.Helper()
	reserved, err := ports.Reserve(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Release)
	return reserved.First
}
