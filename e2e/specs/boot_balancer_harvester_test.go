//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/storage/driver"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/charts"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const (
	// managerNamespace is the namespace of Harvester's own load balancer manager.
	managerNamespace = "harvester-system"
	// guestNamespace is the namespace of the virtual machines of all clusters.
	guestNamespace = metav1.NamespaceDefault
	// accountFolder is where a pod finds its ServiceAccount.
	accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is longer than any spec.
	tokenSeconds = 24 * 3600
)

// harvesterCluster gives an administrator access to the simulated Harvester.
type harvesterCluster struct {
	client.Client
	config *rest.Config
}

func newHarvesterCluster() *harvesterCluster {
	access, err := harvesterConfig(environment.Variables())
	Expect(err).NotTo(HaveOccurred())
	s := runtime.NewScheme()
	Expect(errors.Join(simulator.AddToScheme(s), appsv1.AddToScheme(s))).To(Succeed())
	c, err := client.New(access, client.Options{Scheme: s})
	Expect(err).NotTo(HaveOccurred())
	return &harvesterCluster{Client: c, config: access}
}

// takeOver replaces Harvester's own load balancer with ours, installed by its chart, until the end of the spec.
func (h *harvesterCluster) takeOver(ctx context.Context) {
	const others = "no-load-balancer"
	collectors = append(collectors, h.collect)
	Expect(makeFault(ctx, environment, infra, others, true)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(makeFault(ctx, environment, infra, others, false)).To(Succeed()) })
	ours := release{cluster: h.config, namespace: managerNamespace, chart: charts.LoadBalancer}
	ours.install(ctx, nil)
	DeferCleanup(ours.uninstall)
	h.runPods(ctx, client.ObjectKey{Namespace: managerNamespace, Name: charts.LoadBalancer})
	h.route(ctx, client.ObjectKey{Namespace: managerNamespace, Name: charts.LoadBalancer + "-webhook"})
}

// release is one of our charts in a cluster.
type release struct {
	cluster          *rest.Config
	namespace, chart string
}

func (r release) helm() (*action.Configuration, error) {
	return charts.Helm(r.cluster, r.namespace, func(format string, args ...any) { GinkgoWriter.Printf(format+"\n", args...) })
}

// install installs the chart, and replaces what an interrupted run or attempt has left. It takes over third-party objects, as required
// for Harvester's own CRDs.
func (r release) install(ctx context.Context, values map[string]any) {
	patiently(func() error {
		content, err := charts.Load(repository, r.chart, "")
		if err := errors.Join(err, r.remove()); err != nil {
			return err
		}
		helm, err := r.helm()
		if err != nil {
			return err
		}
		install := action.NewInstall(helm)
		install.ReleaseName, install.Namespace, install.CreateNamespace, install.TakeOwnership = r.chart, r.namespace, true, true
		_, err = install.RunWithContext(ctx, content, values)
		return err
	})
}

// upgrade changes the values of the chart.
func (r release) upgrade(ctx context.Context, values map[string]any) {
	patiently(func() error {
		content, err := charts.Load(repository, r.chart, "")
		if err != nil {
			return err
		}
		helm, err := r.helm()
		if err != nil {
			return err
		}
		upgrade := action.NewUpgrade(helm)
		upgrade.Namespace = r.namespace
		_, err = upgrade.RunWithContext(ctx, r.chart, content, values)
		return err
	})
}

func (r release) uninstall() { patiently(r.remove) }

func (r release) remove() error {
	helm, err := r.helm()
	if err != nil {
		return err
	}
	if _, err = action.NewUninstall(helm).Run(r.chart); errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	return err
}

// runPods runs the pods of a Deployment of the simulated Harvester, which has no kubelet, on the node of the management cluster:
// unchanged, in a namespace of the same name, and as their ServiceAccount on Harvester. It waits until all are available.
func (h *harvesterCluster) runPods(ctx context.Context, key client.ObjectKey) {
	theirs := &appsv1.Deployment{}
	Expect(h.Get(ctx, key, theirs)).To(Succeed())
	h.mirrorNamespace(ctx, key.Namespace)
	for _, volume := range theirs.Spec.Template.Spec.Volumes {
		Expect(volume.Secret).NotTo(BeNil(), "volume %s", volume.Name)
		secret := &corev1.Secret{}
		Expect(h.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: volume.Secret.SecretName}, secret)).To(Succeed())
		Expect(management.GetClient().Create(ctx, &corev1.Secret{ObjectMeta: named(secret), Data: secret.Data})).To(Succeed())
	}
	here := &appsv1.Deployment{ObjectMeta: named(theirs), Spec: *theirs.Spec.DeepCopy()}
	h.useHarvesterAsCluster(ctx, key.Namespace, &here.Spec.Template.Spec)
	Expect(management.GetClient().Create(ctx, here)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(management.GetClient().Get(ctx, key, here)).To(Succeed())
		g.Expect(here.Status.AvailableReplicas).To(Equal(*theirs.Spec.Replicas))
	}, config.GetIntervals("default", "wait-deployment-available")...).Should(Succeed(), "the pods of %s run", key)
}

// mirrorNamespace creates a namespace in the management cluster until the end of the spec.
func (h *harvesterCluster) mirrorNamespace(ctx context.Context, name string) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	remove := func(ctx context.Context) {
		Expect(client.IgnoreNotFound(management.GetClient().Delete(ctx, namespace.DeepCopy()))).To(Succeed())
		Eventually(func() error {
			return client.IgnoreNotFound(management.GetClient().Get(ctx, client.ObjectKeyFromObject(namespace), namespace.DeepCopy()))
		}, config.GetIntervals("default", "wait-deployment-available")...).Should(Succeed())
	}
	remove(ctx)
	Expect(management.GetClient().Create(ctx, namespace.DeepCopy())).To(Succeed())
	DeferCleanup(remove)
}

// useHarvesterAsCluster makes a pod use Harvester as the cluster that it runs in.
func (h *harvesterCluster) useHarvesterAsCluster(ctx context.Context, namespace string, pod *corev1.PodSpec) {
	server, err := url.Parse(h.config.Host)
	Expect(err).NotTo(HaveOccurred())
	token := h.token(ctx, namespace, pod.ServiceAccountName)
	account := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.ServiceAccountName},
		Data: map[string][]byte{
			corev1.ServiceAccountTokenKey: []byte(token), corev1.ServiceAccountRootCAKey: h.config.CAData,
			corev1.ServiceAccountNamespaceKey: []byte(namespace),
		},
	}
	Expect(management.GetClient().Create(ctx, account)).To(Succeed())
	pod.ServiceAccountName, pod.DeprecatedServiceAccount, pod.AutomountServiceAccountToken = "", "", ptr.To(false)
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name: "account", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: account.Name}},
	})
	for i := range pod.Containers {
		container := &pod.Containers[i]
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "account", MountPath: accountFolder, ReadOnly: true})
		container.Env = append(container.Env,
			corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: server.Hostname()}, corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: server.Port()})
	}
}

// token returns a token of a ServiceAccount on Harvester.
func (h *harvesterCluster) token(ctx context.Context, namespace, name string) string {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(h.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// route makes a Service of Harvester route to the pods on the node of the management cluster.
func (h *harvesterCluster) route(ctx context.Context, key client.ObjectKey) {
	theirs := &corev1.Service{}
	Expect(h.Get(ctx, key, theirs)).To(Succeed())
	here := &corev1.Service{ObjectMeta: named(theirs), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Selector: theirs.Spec.Selector, Ports: theirs.Spec.Ports,
	}}
	Expect(management.GetClient().Create(ctx, here)).To(Succeed())
	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{discoveryv1.LabelServiceName: key.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{managementNode(ctx)}}},
	}
	for i := range here.Spec.Ports {
		port := &here.Spec.Ports[i]
		endpoints.Ports = append(endpoints.Ports, discoveryv1.EndpointPort{Name: &port.Name, Protocol: &port.Protocol, Port: &port.NodePort})
	}
	Expect(client.IgnoreNotFound(h.Delete(ctx, endpoints.DeepCopy()))).To(Succeed())
	Expect(h.Create(ctx, endpoints)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(h.Delete(ctx, endpoints))).To(Succeed()) })
}

// managementNode returns the address of the management cluster's node.
func managementNode(ctx context.Context) string {
	nodes := &corev1.NodeList{}
	Expect(management.GetClient().List(ctx, nodes)).To(Succeed())
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	Fail("the node of the management cluster has no address")
	return ""
}

// named returns the metadata of an object without the fields that its API server sets.
func named(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), Labels: object.GetLabels()}
}

// clear removes what an interrupted run has left.
func (h *harvesterCluster) clear(ctx context.Context, pools client.MatchingLabels) {
	all := &lbv1.LoadBalancerList{}
	Expect(h.List(ctx, all)).To(Succeed())
	for i := range all.Items {
		if all.Items[i].Spec.WorkloadType == lbv1.WorkloadCluster {
			Expect(client.IgnoreNotFound(h.Delete(ctx, &all.Items[i]))).To(Succeed())
		}
	}
	Eventually(func() error { return h.DeleteAllOf(ctx, &lbv1.IPPool{}, pools) },
		config.GetIntervals("default", "wait-load-balancer")...).Should(Succeed(), "the pools of an earlier run have no address in use")
}

// collect writes Harvester's load balancer objects, and the logs of their manager.
func (h *harvesterCluster) collect(ctx context.Context, folder string) {
	folder = filepath.Join(folder, "harvester")
	writePodLogs(ctx, management, filepath.Join(folder, "logs"), func(pod *corev1.Pod) bool { return pod.Namespace == managerNamespace })
	writeLists(ctx, h, folder, map[string]client.ObjectList{
		"loadbalancers": &lbv1.LoadBalancerList{}, "ippools": &lbv1.IPPoolList{}, "services": &corev1.ServiceList{},
		"endpointslices": &discoveryv1.EndpointSliceList{}, "deployments": &appsv1.DeploymentList{}, "events": &corev1.EventList{},
	})
}

// writeLists writes all objects of some kinds.
func writeLists(ctx context.Context, from client.Reader, folder string, lists map[string]client.ObjectList) {
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	for name, list := range lists {
		Expect(from.List(ctx, list)).To(Succeed())
		content, err := yaml.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(folder, name+".yaml"), content, 0o600)).To(Succeed())
	}
}
