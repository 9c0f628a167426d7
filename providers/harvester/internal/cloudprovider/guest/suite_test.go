// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/guest"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// asProgram makes the test binary run as the cloud provider. Tests run it as a separate process, because a process can have only one and
// can be killed.
const asProgram = "RUN_CLOUD_PROVIDER"

// uninitialized is the taint of a Node that waits for its cloud provider.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// All tests share the Harvester cluster. Each test has its own namespace there, and its own guest clusters.
var (
	sim    *simulator.Simulator
	guests apiServers
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		command, err := guest.Command(ctrl.SetupSignalHandler().Done())
		utilruntime.Must(err)
		os.Exit(cli.Run(command))
	}
	simulator.Main(withGuests{m}, &sim)
}

// fixture is a namespace of the Harvester cluster.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch
	namespace string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	s := &fixture{WithT: g, t: t, client: sim.Client()}
	s.namespace = integration.NewNamespace(t, s.client)
	return s
}

// pool creates an IPPool for a guest cluster.
func (s *fixture) pool(cluster, subnet, first, last string) {
	s.t.Helper()
	pool := simulator.Pool(s.namespace+"-"+cluster, subnet, first, last)
	pool.Spec.Selector.Scope = []lbv1.Tuple{{Namespace: s.namespace, GuestCluster: cluster}}
	s.Expect(s.client.Create(s.t.Context(), &pool)).To(Succeed())
}

// vm creates a virtual machine, and returns its instance once it runs and has an address.
func (s *fixture) vm(name string, change ...func(*kubevirtv1.VirtualMachine)) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	vm := s.create(name, change...)
	vmi := &kubevirtv1.VirtualMachineInstance{}
	s.Eventually(func() bool {
		err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(vm), vmi)
		return err == nil && len(vmi.Status.Interfaces) > 0 && vmi.Status.Interfaces[0].IP != ""
	}).Should(BeTrue(), "virtual machine %s runs", name)
	return vmi
}

// create creates a virtual machine.
func (s *fixture) create(name string, change ...func(*kubevirtv1.VirtualMachine)) *kubevirtv1.VirtualMachine {
	s.t.Helper()
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyAlways)
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	spec := &vm.Spec.Template.Spec
	spec.Domain.Memory = &kubevirtv1.Memory{Guest: ptr.To(resource.MustParse("1Gi"))}
	spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{
		Name: "nic-1", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}},
	}}
	spec.Networks = []kubevirtv1.Network{{
		Name: "nic-1", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/vlan-1"}},
	}}
	for _, each := range change {
		each(vm)
	}
	s.Expect(s.client.Create(s.t.Context(), vm)).To(Succeed())
	return vm
}

// zone returns the zone of a virtual machine's host.
func (s *fixture) zone(vm string) string {
	s.t.Helper()
	vmi, host := &kubevirtv1.VirtualMachineInstance{}, &corev1.Node{}
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: vm}, vmi)).To(Succeed())
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Name: vmi.Status.NodeName}, host)).To(Succeed())
	return host.Labels[corev1.LabelTopologyZone]
}

// balancers returns the load balancers of a guest cluster.
func (s *fixture) balancers(cluster string) []lbv1.LoadBalancer {
	s.t.Helper()
	list := &lbv1.LoadBalancerList{}
	s.Expect(s.client.List(s.t.Context(), list, client.InNamespace(s.namespace),
		client.MatchingLabels{"cloudprovider.harvesterhci.io/cluster": cluster})).To(Succeed())
	return list.Items
}

// cluster is a guest cluster: an API server and, while it runs, a cloud provider.
type cluster struct {
	*fixture
	name       string
	client     client.WithWatch
	admin      *rest.Config
	kubeconfig string
	harvester  string // path of the kubeconfig
	vips       *vips
	provider   *provider
}

func (s *fixture) cluster(name string) *cluster {
	s.t.Helper()
	env := guests.take(s.t)
	c := &cluster{fixture: s, name: name, admin: env.Config}
	var err error
	c.client, err = client.NewWithWatch(env.Config, client.Options{Scheme: clientgoscheme.Scheme})
	s.Expect(err).NotTo(HaveOccurred())
	folder := s.t.TempDir()
	c.kubeconfig, c.harvester = filepath.Join(folder, "guest"), filepath.Join(folder, "harvester")
	user, err := env.AddUser(envtest.User{Name: c.account()}, nil)
	s.Expect(err).NotTo(HaveOccurred())
	data, err := user.KubeConfig()
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(os.WriteFile(c.kubeconfig, data, 0o600)).To(Succeed())
	c.allow(rules(s.t, guestMarker))
	everything := rules(s.t, harvesterMarker)
	c.bind(everything)
	sim.Grant(c.account(), slices.DeleteFunc(everything, func(rule rbacv1.PolicyRule) bool { return !slices.Contains(rule.Resources, "nodes") }), "")
	c.vips = newVIPs(c)
	return c
}

// account returns the account name of the cloud provider, on Harvester and in the guest cluster.
func (c *cluster) account() string { return c.namespace + "-" + c.name }

// bind creates a kubeconfig of Harvester with these permissions in its namespace only.
func (c *cluster) bind(rules []rbacv1.PolicyRule) {
	c.t.Helper()
	sim.Grant(c.account(), nil, "")
	c.Expect(os.WriteFile(c.harvester, sim.KubeconfigFor(c.account(), rules, c.namespace), 0o600)).To(Succeed())
}

// accountLabel marks the RBAC objects of a cloud provider in the guest cluster.
const accountLabel = "test.faultline.io/account"

// allow grants the cloud provider permissions in the guest cluster.
func (c *cluster) allow(rules []rbacv1.PolicyRule) {
	c.t.Helper()
	meta := metav1.ObjectMeta{Name: c.account(), Labels: map[string]string{accountLabel: ""}}
	c.Expect(c.client.Create(c.t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})).To(Succeed())
	c.Expect(c.client.Create(c.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: c.account()}},
	})).To(Succeed())
}

// The RBAC markers in the program's documentation.
const (
	guestMarker     = "// +kubebuilder:rbac:"
	harvesterMarker = "// +harvester:rbac:"
)

// rules returns the permissions that the program documents, so that no test passes with more.
func rules(t *testing.T, marker string) []rbacv1.PolicyRule {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "cloud-provider", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var list []rbacv1.PolicyRule
	for line := range strings.Lines(string(source)) {
		text, found := strings.CutPrefix(strings.TrimSpace(line), marker)
		if !found {
			continue
		}
		rule := rbacv1.PolicyRule{}
		for field := range strings.SplitSeq(text, ",") {
			key, value, _ := strings.Cut(field, "=")
			values := strings.Split(strings.Trim(value, `"`), ";")
			switch key {
			case "groups":
				rule.APIGroups = values
			case "resources":
				rule.Resources = values
			case "resourceNames":
				rule.ResourceNames = values
			case "verbs":
				rule.Verbs = values
			default:
				t.Fatalf("missing field %s: %s", key, line)
			}
		}
		list = append(list, rule)
	}
	if len(list) == 0 {
		t.Fatalf("the program prints no permissions after %q", marker)
	}
	return list
}

// node creates a Node with a running kubelet that waits for its cloud provider.
func (c *cluster) node(name string, change ...func(*corev1.Node)) *corev1.Node {
	c.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.Taints = []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	for _, each := range change {
		each(node)
	}
	c.Expect(c.client.Create(c.t.Context(), node)).To(Succeed())
	c.kubelet(name, corev1.ConditionTrue)
	return node
}

// kubelet sets the Ready condition of a Node.
func (c *cluster) kubelet(name string, ready corev1.ConditionStatus) {
	c.t.Helper()
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test","lastHeartbeatTime":%q,"lastTransitionTime":%[2]q}]}}`,
		ready, time.Now().UTC().Format(time.RFC3339))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Expect(c.client.Status().Patch(c.t.Context(), node, client.RawPatch("application/strategic-merge-patch+json", []byte(status)))).To(Succeed())
}

// read returns a function that reads a Node.
func (c *cluster) read(name string) func() (*corev1.Node, error) {
	return func() (*corev1.Node, error) {
		node := &corev1.Node{}
		err := c.client.Get(c.t.Context(), client.ObjectKey{Name: name}, node)
		return node, err
	}
}

// service creates a Service with a load balancer.
func (c *cluster) service(name string, change ...func(*corev1.Service)) *corev1.Service {
	c.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
	}}
	for _, each := range change {
		each(service)
	}
	c.Expect(c.client.Create(c.t.Context(), service)).To(Succeed())
	return service
}

// current returns a function that reads a Service.
func (c *cluster) current(name string) func() (*corev1.Service, error) {
	return func() (*corev1.Service, error) {
		service := &corev1.Service{}
		err := c.client.Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, service)
		return service, err
	}
}

// vips simulates kube-vip in a guest cluster: it announces the addresses in the annotation.
type vips struct {
	mu     sync.Mutex
	leases int
}

func newVIPs(c *cluster) *vips {
	v := &vips{}
	go func() {
		watch, err := c.client.Watch(c.t.Context(), &corev1.ServiceList{})
		if err != nil {
			return
		}
		defer watch.Stop()
		for event := range watch.ResultChan() {
			if service, ok := event.Object.(*corev1.Service); ok {
				v.announce(c, service)
			}
		}
	}()
	return v
}

func (v *vips) announce(c *cluster, service *corev1.Service) {
	asked := service.Annotations["kube-vip.io/loadbalancerIPs"]
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.DeletionTimestamp != nil || asked == "" {
		return
	}
	var ingress []corev1.LoadBalancerIngress
	for address := range strings.SplitSeq(asked, ",") {
		if address == lbv1.UnspecifiedAddress {
			if len(service.Status.LoadBalancer.Ingress) > 0 {
				return
			}
			v.mu.Lock()
			v.leases++
			address = netip.AddrFrom4([4]byte{192, 168, 77, byte(v.leases)}).String()
			v.mu.Unlock()
		}
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: address})
	}
	said, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}}})
	if err == nil {
		// The next event retries a failed update.
		_ = c.client.Status().Patch(c.t.Context(), service, client.RawPatch("application/merge-patch+json", said))
	}
}

// provider is a running cloud provider.
type provider struct {
	cmd   *exec.Cmd
	ended chan struct{}
	log   *journal
}

// journal holds the output of a program.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(data)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// start runs the cloud provider until the test ends or stop is called.
func (c *cluster) start(flags ...string) {
	c.t.Helper()
	program, err := os.Executable()
	c.Expect(err).NotTo(HaveOccurred())
	args := append([]string{
		"--kubeconfig=" + c.kubeconfig, "--cloud-config=" + c.harvester, "--cluster-name=" + c.name, "--leader-elect=false", "--secure-port=0",
		"--controller-start-interval=0s", "--node-monitor-period=500ms", "-v=2",
	}, flags...)
	p := &provider{cmd: exec.Command(program, args...), ended: make(chan struct{}), log: &journal{}}
	p.cmd.Env = append(os.Environ(), asProgram+"=true")
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	c.Expect(p.cmd.Start()).To(Succeed())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // it is killed
	}()
	c.provider = p
	c.t.Cleanup(func() {
		p.kill()
		if c.t.Failed() {
			c.t.Logf("the cloud provider of %s said:\n%s", c.name, p.log)
		}
	})
}

// kill kills the process.
func (p *provider) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}
