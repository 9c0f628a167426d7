// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package workload_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/etcd"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/proxy"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/ports"
	"github.com/faultline-io/faultline/shared/testenv"
)

const (
	host    = ports.Host
	version = "v1.36.3"

	// timeout allows for a busy machine; only a failing test waits that long.
	timeout     = 2 * time.Minute
	callTimeout = time.Minute
)

// management is the API that the tests share, each in its own namespace and with its own range of ports.
var management *rest.Config

func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	SetDefaultEventuallyTimeout(timeout)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	testenv.Main(m, testenv.Options{ClusterAPI: true}, func(env *envtest.Environment) error {
		management = env.Config
		return nil
	})
}

// fixture is a namespace of the management API with a running simulator.
type fixture struct {
	*WithT
	t         *testing.T
	config    *rest.Config // of the management API
	client    client.Client
	namespace string
	options   workload.Options
	simulator *workload.Simulator
	stop      func()
}

func newFixture(t *testing.T, change ...func(*workload.Options)) *fixture {
	t.Helper()
	return newFixtureOn(t, management, change...)
}

// newFixtureOn returns a fixture on a management API.
func newFixtureOn(t *testing.T, config *rest.Config, change ...func(*workload.Options)) *fixture {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	reserved, err := ports.Reserve(20)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(reserved.Release)
	w := &fixture{WithT: g, t: t, config: config, client: c, namespace: integration.NewNamespace(t, c), options: workload.Options{
		PortRange: workload.PortRange{First: reserved.First, Last: reserved.First + reserved.Count - 1},
		Log:       logOnFailure(t),
	}}
	for _, f := range change {
		f(&w.options)
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// logOnFailure keeps all log lines, including those after the test has ended, and prints them if the test fails.
func logOnFailure(t *testing.T) logr.Logger {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Log(strings.Join(lines, "\n"))
		}
	})
	return funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{LogTimestamp: true, Verbosity: 1})
}

// start runs a simulator until stop or the end of the test.
func (w *fixture) start() {
	w.t.Helper()
	s, err := workload.New(w.t.Context(), w.config, w.options)
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	w.simulator = s
	w.stop = func() {
		cancel()
		w.Expect(<-ended).To(Succeed())
		ended <- nil
	}
}

func (w *fixture) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: name}
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *fixture) create(object client.Object) {
	w.t.Helper()
	w.Expect(w.client.Create(w.t.Context(), object)).To(Succeed())
}

func (w *fixture) delete(object client.Object) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), object)).To(Succeed())
}

// createCluster creates a Cluster as it is once its infrastructure is ready, at its reserved endpoint and with the authorities of its
// control plane.
func (w *fixture) createCluster(name string) *clusterv1.Cluster {
	w.t.Helper()
	w.createAuthorities(name)
	return w.createClusterOnly(name)
}

func (w *fixture) createClusterOnly(name string) *clusterv1.Cluster {
	w.t.Helper()
	address, port, err := w.simulator.Endpoint(w.namespace, name)
	w.Expect(err).NotTo(HaveOccurred())
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta(name)}
	cluster.Spec.InfrastructureRef = infrastructure("TestCluster", name)
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: address, Port: int32(port)}
	w.create(cluster)
	return cluster
}

func (w *fixture) createAuthorities(cluster string) {
	w.t.Helper()
	authorities := secret.NewCertificatesForInitialControlPlane(nil)
	w.Expect(authorities.Generate()).To(Succeed())
	for _, authority := range authorities {
		s := authority.AsSecret(w.key(cluster), metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster, UID: "0",
		})
		w.create(s)
	}
}

func infrastructure(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: kind, Name: name}
}

// provisioned creates a Machine whose infrastructure and bootstrap data are ready.
func (w *fixture) provisioned(cluster, name string, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	w.t.Helper()
	m := &clusterv1.Machine{ObjectMeta: w.meta(name)}
	m.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster}
	m.Spec.ClusterName = cluster
	m.Spec.Version = version
	m.Spec.ProviderID = "test://" + name
	m.Spec.Bootstrap.DataSecretName = ptr.To(name)
	m.Spec.InfrastructureRef = infrastructure("TestMachine", name)
	m.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: "192.0.2.1"}}
	for _, f := range change {
		f(m)
	}
	status := m.Status
	w.create(m)
	m.Status = status
	w.Expect(w.client.Status().Update(w.t.Context(), m)).To(Succeed())
	return m
}

// controlPlane makes it a machine of the control plane.
func controlPlane(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }

// kept gives it a finalizer, as Cluster API does.
func kept(m *clusterv1.Machine) { m.Finalizers = []string{clusterv1.MachineFinalizer} }

// loseInfrastructure sets the status that Cluster API sets when the infrastructure is deleted.
func (w *fixture) loseInfrastructure(m *clusterv1.Machine) {
	w.t.Helper()
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(m), m)).To(Succeed())
	m.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionFalse,
		Reason: clusterv1.MachineInfrastructureDeletedReason, LastTransitionTime: metav1.Now(),
	}}
	w.Expect(w.client.Status().Update(w.t.Context(), m)).To(Succeed())
}

// nodes returns the names of nodes in the cluster's API server and whether they are ready.
func (w *fixture) nodes(cluster string) (map[string]corev1.ConditionStatus, error) {
	c, err := w.simulator.ClientFor(w.namespace, cluster)
	if err != nil {
		return nil, err
	}
	list := &corev1.NodeList{}
	if err := c.List(w.t.Context(), list); err != nil {
		return nil, err
	}
	nodes := map[string]corev1.ConditionStatus{}
	for _, node := range list.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				nodes[node.Name] = condition.Status
			}
		}
	}
	return nodes, nil
}

// ready returns the result of nodes if exactly these exist and are ready.
func ready(names ...string) map[string]corev1.ConditionStatus {
	nodes := map[string]corev1.ConditionStatus{}
	for _, name := range names {
		nodes[name] = corev1.ConditionTrue
	}
	return nodes
}

func (w *fixture) eventuallyReady(cluster string, names ...string) {
	w.t.Helper()
	w.Eventually(func() (map[string]corev1.ConditionStatus, error) { return w.nodes(cluster) }).Should(Equal(ready(names...)))
}

// workload returns a client of a simulated cluster that is up.
func (w *fixture) workload(cluster string) client.Client {
	w.t.Helper()
	c, err := w.simulator.ClientFor(w.namespace, cluster)
	w.Expect(err).NotTo(HaveOccurred())
	return c
}

// restConfig connects to a simulated cluster with only its endpoint and authorities, as Cluster API does.
func (w *fixture) restConfig(cluster string) *rest.Config {
	w.t.Helper()
	address, port, err := w.simulator.Endpoint(w.namespace, cluster)
	w.Expect(err).NotTo(HaveOccurred())
	ca, err := secret.Get(w.t.Context(), w.client, w.key(cluster), secret.ClusterCA)
	w.Expect(err).NotTo(HaveOccurred())
	return &rest.Config{
		Host:            fmt.Sprintf("https://%s:%d", address, port),
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.Data[secret.TLSCrtDataName]},
	}
}

// etcd connects to the etcd member of a node through the API server, as the kubeadm control plane provider does. It does not use that
// provider's constructor, which shares a port-forwarding transport between the two connections that an etcd client opens at once, so that
// one of them may be lost.
func (w *fixture) etcd(cluster, node string) (*etcd.Client, error) {
	w.t.Helper()
	ca, err := secret.Get(w.t.Context(), w.client, w.key(cluster), secret.EtcdCA)
	w.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	w.Expect(roots.AppendCertsFromPEM(ca.Data[secret.TLSCrtDataName])).To(BeTrue())
	config := w.restConfig(cluster)
	dial := func(ctx context.Context, pod string) (net.Conn, error) {
		dialer, err := proxy.NewDialer(proxy.Proxy{
			Kind: "pods", Namespace: metav1.NamespaceSystem, KubeConfig: rest.CopyConfig(config), Port: 2379,
		})
		if err != nil {
			return nil, err
		}
		return dialer.DialContextWithAddr(ctx, pod)
	}
	endpoint := "etcd-" + node
	connection, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{endpoint},
		DialTimeout: callTimeout,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)},
		TLS:         &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{w.clientCertificate(ca)}},
		Logger:      zap.NewNop(),
	})
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(w.t.Context(), callTimeout)
	defer cancel()
	status, err := connection.Status(ctx, endpoint)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return &etcd.Client{EtcdClient: connection, Endpoint: endpoint, LeaderID: status.Leader, CallTimeout: callTimeout}, nil
}

func (w *fixture) clientCertificate(ca *corev1.Secret) tls.Certificate {
	w.t.Helper()
	certificate, err := certs.DecodeCertPEM(ca.Data[secret.TLSCrtDataName])
	w.Expect(err).NotTo(HaveOccurred())
	signer, err := certs.DecodePrivateKeyPEM(ca.Data[secret.TLSKeyDataName])
	w.Expect(err).NotTo(HaveOccurred())
	key, err := certs.NewPrivateKey()
	w.Expect(err).NotTo(HaveOccurred())
	config := certs.Config{CommonName: "test", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	signed, err := config.NewSignedCert(key, certificate, signer)
	w.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(certs.EncodeCertPEM(signed), certs.EncodePrivateKeyPEM(key))
	w.Expect(err).NotTo(HaveOccurred())
	return pair
}

// members returns the names of the etcd members and of their leader, as reported by the member on node.
func (w *fixture) members(cluster, node string) (names []string, leader string, err error) {
	c, err := w.etcd(cluster, node)
	if err != nil {
		return nil, "", err
	}
	defer func() { w.Expect(c.Close()).To(Succeed()) }()
	members, err := c.Members(w.t.Context())
	if err != nil {
		return nil, "", err
	}
	for _, member := range members {
		names = append(names, member.Name)
		if member.ID == c.LeaderID {
			leader = member.Name
		}
	}
	return names, leader, nil
}

// etcdAnswers performs a TLS handshake with the etcd member of a node.
func (w *fixture) etcdAnswers(cluster, node string) error {
	w.t.Helper()
	address, port, err := w.simulator.Endpoint(w.namespace, cluster)
	w.Expect(err).NotTo(HaveOccurred())
	dialer := &tls.Dialer{Config: &tls.Config{ServerName: "etcd-" + node, InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(w.t.Context(), "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return connection.Close()
}
