//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/charts"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// cloudProviderRole is the role of cloud providers on Harvester.
const cloudProviderRole = "harvesterhci.io:cloudprovider"

// tenant is a cluster on Harvester with its cloud provider.
type tenant struct {
	*cluster
	guest

	harvester *harvesterCluster
	proxy     framework.ClusterProxy
	// pool is the cluster's pool on Harvester, and pool6 its IPv6 pool; "" if the network of the machines has no IPv6.
	pool, pool6 string
	// kubeVIPTag is the version of kube-vip on the machines; "" means the chart's version.
	kubeVIPTag string
}

// tenancy configures a tenant.
type tenancy struct {
	// workers is the number of workers in each of two failure domains.
	workers int64
	// kubeVIP are values of the chart.
	kubeVIP map[string]any
	// addresses are the consecutive addresses of its pool, and addresses6 those of its IPv6 pool.
	addresses, addresses6 []string
}

// newTenant creates a cluster and a pool only for it, and installs the chart of the cloud provider.
func newTenant(ctx context.Context, spec string, h *harvesterCluster, has tenancy) *tenant {
	from := template{flavor: clusterctl.DefaultFlavor}
	if len(has.addresses6) > 0 {
		from.variables = bothFamilies()
	}
	t := &tenant{cluster: newClusterOf(ctx, spec, from, 1, has.workers), harvester: h}
	t.proxy, t.guest = management.GetWorkloadCluster(ctx, t.namespace, t.name), t.cluster.guest(ctx)
	collectors = append(collectors, t.collect)
	t.pool = t.makePool(ctx, t.name+"-services", has.addresses)
	if len(has.addresses6) > 0 {
		t.pool6 = t.makePool(ctx, t.name+"-services6", has.addresses6)
	}
	t.giveAccess(ctx)
	DeferCleanup(t.releaseAddresses, spec) // While the cloud provider still has access.
	machines := &corev1.NodeList{}
	patiently(func() error { return t.List(ctx, machines) })
	for i := range machines.Items {
		Expect(loadChartImage(ctx, environment, charts.CloudProvider, machines.Items[i].Name)).To(Succeed())
	}
	t.kubeVIPTag = kubeVIPTag(machines.Items)
	t.chart().install(ctx, t.values(has.kubeVIP))
	t.nameItself(ctx)
	return t
}

// chart returns the release of the cloud provider's chart.
func (t *tenant) chart() release {
	return release{cluster: t.config, namespace: metav1.NamespaceSystem, chart: charts.CloudProvider}
}

// values returns the values of the chart, including some for kube-vip.
func (t *tenant) values(kubeVIP map[string]any) map[string]any {
	if t.kubeVIPTag != "" {
		kubeVIP["image"] = map[string]any{"tag": t.kubeVIPTag}
	}
	args := []any{"--v=2"}
	if t.pool6 != "" {
		args = append(args, "--ipv6-pool="+t.pool6)
	}
	return map[string]any{
		"clusterName": t.name, "cloudConfig": map[string]any{"secretName": "harvester"}, "extraArgs": args, "kube-vip": kubeVIP,
	}
}

// makePool creates a pool of these addresses in the network of the machines, only for the cluster.
func (t *tenant) makePool(ctx context.Context, name string, addresses []string) string {
	first := netip.MustParseAddr(addresses[0])
	around, err := first.Prefix(first.BitLen() - 8)
	Expect(err).NotTo(HaveOccurred())
	pool := &lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: specPools},
		Spec: lbv1.IPPoolSpec{
			Ranges:   []lbv1.Range{{Subnet: around.String(), RangeStart: addresses[0], RangeEnd: addresses[len(addresses)-1]}},
			Selector: lbv1.Selector{Network: vmNetwork(), Scope: []lbv1.Tuple{{Namespace: guestNamespace, GuestCluster: t.name}}},
		},
	}
	if first.Is6() { // The cloud provider names it. With a scope, it would be equivalent to the other pool.
		pool.Spec.Selector.Scope = nil
	}
	Expect(t.harvester.Create(ctx, pool)).To(Succeed())
	return name
}

// vmNetwork returns the network of all machines on Harvester.
func vmNetwork() string { return environment.Variables()["VM_NETWORK"] }

// giveAccess creates an account for the cloud provider on Harvester, as Harvester's administrator does, and gives its kubeconfig to the
// cluster.
func (t *tenant) giveAccess(ctx context.Context) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: guestNamespace, Name: t.name}}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}
	hosts := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: t.name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	}}
	for _, object := range []client.Object{
		account, hosts,
		&rbacv1.RoleBinding{ObjectMeta: account.ObjectMeta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cloudProviderRole}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: hosts.ObjectMeta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: hosts.Name}},
	} {
		Expect(t.harvester.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(t.harvester.Delete(ctx, object))).To(Succeed()) })
	}
	const name = "harvester"
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: t.harvester.config.Host, CertificateAuthorityData: t.harvester.config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: t.harvester.token(ctx, account.Namespace, account.Name)}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: guestNamespace}},
		CurrentContext: name,
	})
	Expect(err).NotTo(HaveOccurred())
	t.create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}, Data: map[string][]byte{"cloud-config": kubeconfig},
	})
}

// create creates an object in the cluster.
func (t *tenant) create(ctx context.Context, object client.Object) {
	patiently(func() error { return client.IgnoreAlreadyExists(t.Create(ctx, object)) })
}

// patiently retries until do succeeds: a cluster whose machines share two cores may respond slowly.
func patiently(do func() error) {
	GinkgoHelper()
	Eventually(do, config.GetIntervals("default", "wait-load-balancer")...).Should(Succeed())
}

// kubeVIPTag returns the version of kube-vip on the machines; "" if they pull the chart's version.
func kubeVIPTag(nodes []corev1.Node) string {
	for _, image := range nodes[0].Status.Images {
		for _, name := range image.Names {
			if _, tag, ok := strings.Cut(name, "/kube-vip:"); ok {
				return tag
			}
		}
	}
	return ""
}

// nameItself creates a Service with the cluster's name, so that the cluster's DNS identifies the cluster.
func (t *tenant) nameItself(ctx context.Context) {
	t.create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: t.name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	})
}

// Ports of the pods that serve the cluster's DNS.
var (
	dnsOverTCP = corev1.ServicePort{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP}
	dnsOverUDP = corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}
	dnsMetrics = corev1.ServicePort{Name: "metrics", Port: 9153, Protocol: corev1.ProtocolTCP}
)

// expose creates a Service of type LoadBalancer for the pods of the cluster's DNS, because they already exist and no other image can be
// pulled.
func (t *tenant) expose(ctx context.Context, name string, annotations map[string]string, ports ...corev1.ServicePort) *corev1.Service {
	service := balanced(name, annotations, ports...)
	t.create(ctx, service)
	return service
}

// balanced returns a Service of type LoadBalancer for those pods.
func balanced(name string, annotations map[string]string, ports ...corev1.ServicePort) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Annotations: annotations},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"k8s-app": "kube-dns"}, Ports: slices.Clone(ports)},
	}
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].TargetPort = intstr.FromInt32(service.Spec.Ports[i].Port)
	}
	return service
}

// inNetwork makes a Service's address come from a pool of the machines' network.
func inNetwork() map[string]string {
	return map[string]string{"cloudprovider.harvesterhci.io/network": vmNetwork()}
}

// announced waits until kube-vip has announced a Service's address, and returns it.
func (t *tenant) announced(ctx context.Context, spec string, service *corev1.Service) string {
	return t.announcedAll(ctx, spec, service, 1)[0]
}

// announcedAll is announced for several addresses.
func (t *tenant) announcedAll(ctx context.Context, spec string, service *corev1.Service, count int) []string {
	Eventually(func(g Gomega) {
		g.Expect(t.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
		g.Expect(service.Status.LoadBalancer.Ingress).To(HaveLen(count))
	}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed(), "Service %s has %d addresses", service.Name, count)
	addresses := make([]string, count)
	for i, ingress := range service.Status.LoadBalancer.Ingress {
		addresses[i] = ingress.IP
	}
	return addresses
}

// hosts returns the nodes that have an address.
func (t *tenant) hosts(ctx context.Context, g Gomega, address string) []string {
	nodes := &corev1.NodeList{}
	g.Expect(t.List(ctx, nodes)).To(Succeed())
	var have []string
	for i := range nodes.Items {
		has, err := hasAddress(ctx, environment, nodes.Items[i].Name, address)
		g.Expect(err).NotTo(HaveOccurred())
		if has {
			have = append(have, nodes.Items[i].Name)
		}
	}
	return have
}

// allocated returns the addresses of a pool that are in use, with their LoadBalancers.
func (h *harvesterCluster) allocated(ctx context.Context, g Gomega, pool string) map[string]string {
	found := &lbv1.IPPool{}
	g.Expect(h.Get(ctx, client.ObjectKey{Name: pool}, found)).To(Succeed())
	return found.Status.Allocated
}

// balancer returns a Service's LoadBalancer on Harvester.
func (t *tenant) balancer(ctx context.Context, g Gomega, service *corev1.Service) *lbv1.LoadBalancer {
	all := &lbv1.LoadBalancerList{}
	g.Expect(t.harvester.List(ctx, all, client.InNamespace(guestNamespace), client.MatchingLabels{
		lbv1.GuestClusterLabel: t.name, "cloudprovider.harvesterhci.io/serviceName": service.Name,
	})).To(Succeed())
	g.Expect(all.Items).To(HaveLen(1), "Service %s has one LoadBalancer", service.Name)
	return &all.Items[0]
}

// chartRuns waits until all pods of the cloud provider's chart run: the provider's, and kube-vip's on a number of nodes.
func (t *tenant) chartRuns(ctx context.Context, spec string, nodes int32) {
	Eventually(func(g Gomega) {
		provider, announcer := &appsv1.Deployment{}, &appsv1.DaemonSet{}
		g.Expect(t.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: charts.CloudProvider}, provider)).To(Succeed())
		g.Expect(provider.Status.AvailableReplicas).To(Equal(int32(1)))
		g.Expect(t.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-vip"}, announcer)).To(Succeed())
		g.Expect(announcer.Status).To(And(HaveField("NumberAvailable", nodes), HaveField("UpdatedNumberScheduled", nodes), HaveField("ObservedGeneration", announcer.Generation)))
	}, config.GetIntervals(spec, "wait-deployment-available")...).Should(Succeed(), "the pods of the chart run in %s", t.name)
}

// releaseAddresses deletes the Services with addresses and expects nothing of them to be left on Harvester.
func (t *tenant) releaseAddresses(ctx SpecContext, spec string) {
	services := &corev1.ServiceList{}
	patiently(func() error { return t.List(ctx, services) })
	for i := range services.Items {
		if services.Items[i].Spec.Type == corev1.ServiceTypeLoadBalancer {
			patiently(func() error { return client.IgnoreNotFound(t.Delete(ctx, &services.Items[i])) })
		}
	}
	for _, pool := range []string{t.pool, t.pool6} {
		if pool == "" {
			continue
		}
		Eventually(func(g Gomega) { g.Expect(t.harvester.allocated(ctx, g, pool)).To(BeEmpty()) },
			config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed(), "the addresses of %s are given back", pool)
		Expect(t.harvester.Delete(ctx, &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: pool}})).To(Succeed())
	}
}

// collect writes the cluster's Services, and the logs of the chart's programs.
func (t *tenant) collect(ctx context.Context, folder string) {
	folder = filepath.Join(folder, t.name)
	writePodLogs(ctx, t.proxy, filepath.Join(folder, "logs"), func(pod *corev1.Pod) bool { return pod.Namespace == metav1.NamespaceSystem })
	writeLists(ctx, t, folder, map[string]client.ObjectList{
		"services": &corev1.ServiceList{}, "nodes": &corev1.NodeList{}, "pods": &corev1.PodList{}, "events": &corev1.EventList{},
	})
}
