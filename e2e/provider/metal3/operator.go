// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/providers/metal3/simulator/ironic"
)

const (
	// operatorName is the name of the operator's process and its log.
	operatorName = "baremetal-operator"
	// headerTimeout is generous, because the operator is local.
	headerTimeout = 10 * time.Second
)

// Operator is upstream's bare-metal operator. If it is set, it manages the hosts instead of the simulated one, and Ironic and the
// machines are simulated.
type Operator struct {
	// Program is its executable, Release the kustomize folder of its release with its CRDs, RBAC rules and webhooks.
	Program, Release string
}

// OperatorOf returns the operator that the environment selects: FAULTLINE_BMO is its program, FAULTLINE_BMO_RELEASE the folder of its
// release.
func OperatorOf() Operator {
	return Operator{Program: os.Getenv("FAULTLINE_BMO"), Release: os.Getenv("FAULTLINE_BMO_RELEASE")}
}

// component returns the operator as a component of a management cluster.
func (o Operator) component(endpoint string) managementcluster.Component {
	return managementcluster.Component{
		Name: operatorName, Program: o.Program, Config: o.Release, Objects: []*unstructured.Unstructured{operatorNamespace()},
		Listen: func(at managementcluster.Endpoints) (args, env []string, err error) {
			env, err = o.environment(endpoint, at.Certificates)
			return []string{
				"--enable-leader-election=false", "--webhook-port=" + strconv.Itoa(at.Webhook), "--health-addr=" + at.Health,
				"--metrics-addr=" + at.Diagnostics,
			}, env, err
		},
	}
}

// operatorNamespace returns the namespace that the release expects.
func operatorNamespace() *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	namespace.SetName("baremetal-operator-system")
	return namespace
}

// environment returns variables with the address of Ironic, and with a temporary folder below which the operator finds the certificates
// of its webhooks.
func (Operator) environment(endpoint, certificates string) ([]string, error) {
	serving := filepath.Join(certificates, "k8s-webhook-server", "serving-certs")
	if err := os.MkdirAll(serving, 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join(certificates, name), filepath.Join(serving, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	return []string{
		"TMPDIR=" + certificates, "IRONIC_ENDPOINT=" + endpoint,
		"DEPLOY_KERNEL_URL=http://images.example.com/ipa.kernel", "DEPLOY_RAMDISK_URL=http://images.example.com/ipa.initramfs",
	}, nil
}

// OperatorSimulation is a simulation with racks of hosts that the real operator manages.
type OperatorSimulation struct {
	hosts
	operator Operator
	ironic   *ironic.Server
	listener net.Listener
	server   *http.Server
}

// NewOperatorSimulation returns a simulation like Racks, with the real operator.
func NewOperatorSimulation(hosts int, operator Operator) (*OperatorSimulation, error) {
	o := &OperatorSimulation{operator: operator}
	o.racks, o.booted, o.power = layout(hosts), map[string]client.ObjectKey{}, o.setPower
	o.ironic = ironic.New(ironic.WithDelays(ironic.Delays{
		Step: 500 * time.Millisecond, Inspecting: time.Second, Deploying: 2 * time.Second, Cleaning: time.Second, Power: 500 * time.Millisecond,
		SoftPowerOff: 10 * time.Second, PowerSync: 2 * time.Second,
	}))
	var err error
	if o.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("serving Ironic's API: %w", err)
	}
	o.server = &http.Server{Handler: o.ironic, ReadHeaderTimeout: headerTimeout}
	go func() { _ = o.server.Serve(o.listener) }()
	return o, nil
}

// Ironic returns the simulated Ironic.
func (o *OperatorSimulation) Ironic() *ironic.Server { return o.ironic }

// endpoint returns the URL of Ironic's API.
func (o *OperatorSimulation) endpoint() string {
	return "http://" + o.listener.Addr().String() + "/v1/"
}

// Setup implements provider.Simulation.
func (o *OperatorSimulation) Setup(string) (provider.Setup, error) {
	return setup("curl " + o.endpoint() + "nodes"), nil
}

// Join installs the operator and creates the hosts.
func (o *OperatorSimulation) Join(ctx context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) (run func(context.Context) error, err error) {
	if err := o.connect(in, workloads); err != nil {
		return nil, err
	}
	if err := in.Apply(ctx, o.operator.component(o.endpoint())); err != nil {
		return nil, err
	}
	if err := simulator.Create(ctx, o.client, provider.DemoNamespace, o.racks); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		var group sync.WaitGroup
		group.Go(func() { o.ironic.Run(ctx) })
		wait.UntilWithContext(ctx, o.boot, provider.PollInterval)
		group.Wait()
		return nil
	}, nil
}

// Machines returns the claimed hosts, running if they are powered on.
func (o *OperatorSimulation) Machines(ctx context.Context) ([]provider.Placement, error) {
	on := map[string]bool{}
	for _, machine := range o.ironic.Machines() {
		on[machine.Name] = machine.On
	}
	return claimed(ctx, o.client, provider.DemoNamespace, func(host simulator.Placement) bool {
		return on[nodeName(client.ObjectKey{Namespace: provider.DemoNamespace, Name: host.Host})]
	})
}

// nodeName returns the operator's name for the node of a host.
func nodeName(host client.ObjectKey) string { return host.Namespace + "~" + host.Name }

// setPower powers a rack on or off, including its BMCs.
func (o *OperatorSimulation) setPower(ctx context.Context, rack string, on bool) error {
	for _, host := range o.racks.Hosts(provider.DemoNamespace) {
		if host.Labels[simulator.DomainLabel] != rack {
			continue
		}
		if err := o.ironic.SetFault(ctx, ironic.Dark, !on, host.Namespace, host.Name); err != nil {
			return err
		}
	}
	return nil
}

// Close stops Ironic.
func (o *OperatorSimulation) Close() { _ = o.server.Close() }

// boot powers the in-memory machines on and off that run on hosts. It is called again and again.
func (o *OperatorSimulation) boot(ctx context.Context) {
	for _, machine := range o.ironic.Machines() {
		namespace, name, _ := strings.Cut(machine.Name, "~")
		host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		var err error
		if _, booted := o.booted[name]; machine.Runs == nil {
			err = o.powerOff(ctx, host)
		} else if !booted {
			err = o.powerOn(ctx, simulator.Boot{Host: host, UserData: []byte(machine.Runs.UserData), MetaData: machine.Runs.MetaData})
		}
		if err != nil {
			ctrl.Log.Error(err, "Failed to change the power of a machine", "host", name)
		}
	}
}
