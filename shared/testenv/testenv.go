// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv runs tests with a real API server that has what a provider installs: envtest with the CRDs and webhooks of the
// provider, and with Cluster API's CRDs of the version in the provider's go.mod. It finds or builds etcd and kube-apiserver; see
// Assets.
package testenv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/faultline-io/faultline/shared/ports"
)

const (
	// startTimeout is a timeout that is sufficient even on a busy machine.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long the API server and etcd may take to stop. After that they are killed, because their data is discarded:
	// an API server waits up to a minute for open watches.
	stopTimeout = 250 * time.Millisecond
)

// Options configures the API server.
type Options struct {
	Scheme *runtime.Scheme
	// Assets is the folder with etcd and kube-apiserver; "" means that of the function Assets.
	Assets string
	// Config is the folder of the provider's manifests, whose CRDs are installed; "" for none.
	Config string
	// ClusterAPI installs Cluster API's CRDs, with the version in which objects are stored.
	ClusterAPI bool
	// ControlPlane installs the CRDs of KubeadmControlPlanes.
	ControlPlane bool
	CRDs         []*apiextensionsv1.CustomResourceDefinition
	// Webhooks installs the webhook configurations in Config. The caller must serve them.
	Webhooks bool
	// Conversion configures the webhook server to convert between the versions of every kind.
	Conversion bool
	// Serve adds the webhooks to a manager that serves them while the API server runs; it implies Webhooks.
	Serve func(ctrl.Manager) error
	// Configure adjusts the flags of etcd and the API server; it may be nil.
	Configure func(*envtest.ControlPlane)
}

// Main runs the tests of a package, which share the API server, and exits. Call it from TestMain, and nothing else. Before the
// first test it calls ready, which may be nil, with the started environment.
func Main(m *testing.M, o Options, ready func(*envtest.Environment) error) {
	// Fuzz workers are started for each core, and again after each crash; they run no other test.
	if slices.Contains(os.Args, "-test.fuzzworker") {
		os.Exit(m.Run())
	}
	code, err := run(m, o, ready)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, o Options, ready func(*envtest.Environment) error) (int, error) {
	env, stop, err := start(context.Background(), o)
	if err != nil {
		return 0, err
	}
	if ready != nil {
		if err := ready(env); err != nil {
			return 0, errors.Join(err, stop())
		}
	}
	return m.Run(), stop()
}

// Start starts an API server for one test and stops it at the end of the test.
func Start(t *testing.T, o Options) *envtest.Environment {
	t.Helper()
	env, stop, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("webhooks: %v", err)
		}
	})
	return env
}

// Open starts an API server outside a test. The caller must call stop, which stops it and returns the error of the webhook
// server.
func Open(ctx context.Context, o Options) (env *envtest.Environment, stop func() error, err error) {
	return start(ctx, o)
}

// start starts an API server and webhooks; stop stops both and returns the error of the webhook server.
func start(ctx context.Context, o Options) (env *envtest.Environment, stop func() error, err error) {
	ctrl.SetLogger(logr.Discard())
	reserved, err := ports.Reserve(reservedPorts)
	if err != nil {
		return nil, nil, err
	}
	if env, err = environment(ctx, o, reserved.First); err != nil {
		reserved.Release()
		return nil, nil, err
	}
	end := func() error { return nil }
	stop = func() error {
		err := end()
		_ = env.Stop() // It has stopped or was killed.
		stopped(env)
		reserved.Release()
		return err
	}
	stopWhenInterrupted(env)
	if _, err := env.Start(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("starting the API server: %w", err), stop())
	}
	if o.Serve == nil {
		return env, stop, nil
	}
	if end, err = serve(ctx, env, o.Serve); err != nil {
		end = func() error { return nil }
		return nil, nil, errors.Join(fmt.Errorf("serving webhooks: %w", err), stop())
	}
	return env, stop, nil
}

// The ports of an environment, as offsets from the first reserved one.
const (
	apiServerPort = iota
	etcdPort
	etcdPeerPort
	webhookPort
	reservedPorts
)

func environment(ctx context.Context, o Options, first int) (*envtest.Environment, error) {
	env := &envtest.Environment{Scheme: o.Scheme, ControlPlaneStartTimeout: startTimeout, ControlPlaneStopTimeout: stopTimeout}
	env.ControlPlane.GetAPIServer().ListenAddr = envtest.ListenAddr{Address: ports.Host, Port: strconv.Itoa(first + apiServerPort)}
	env.ControlPlane.Etcd = &envtest.Etcd{URL: &url.URL{Scheme: "http", Host: address(first + etcdPort)}}
	env.ControlPlane.Etcd.Configure().Set("listen-peer-urls", "http://"+address(first+etcdPeerPort))
	assets, err := Assets(o.Assets)
	if err != nil {
		return nil, err
	}
	env.ControlPlane.GetAPIServer().Path = filepath.Join(assets, "kube-apiserver")
	env.ControlPlane.Etcd.Path = filepath.Join(assets, "etcd")
	// Fair queuing would use a quarter of the CPU time of the API server's start, and no test has enough requests to queue.
	env.ControlPlane.GetAPIServer().Configure().Set("enable-priority-and-fairness", "false")
	if o.Configure != nil {
		o.Configure(&env.ControlPlane)
	}
	crds, err := definitions(ctx, o)
	if err != nil {
		return nil, err
	}
	env.CRDs = crds
	if o.Webhooks || o.Serve != nil {
		env.WebhookInstallOptions, err = webhooks(filepath.Join(o.Config, "webhook", "manifests.yaml"))
		env.WebhookInstallOptions.LocalServingHost, env.WebhookInstallOptions.LocalServingPort = ports.Host, first+webhookPort
		env.WebhookInstallOptions.IgnoreSchemeConvertible = o.Conversion
	}
	return env, err
}

// webhooks reads webhook configurations. Their timeouts are the longest that Kubernetes allows, because webhooks of tests share the cores
// with all tests and their API servers.
func webhooks(path string) (envtest.WebhookInstallOptions, error) {
	const timeout = 30 // seconds
	var found envtest.WebhookInstallOptions
	data, err := os.ReadFile(path)
	if err != nil {
		return found, fmt.Errorf("reading webhook configurations: %w", err)
	}
	for reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return found, fmt.Errorf("reading webhook configurations in %s: %w", path, err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			return found, fmt.Errorf("reading webhook configurations in %s: %w", path, err)
		}
		switch configuration := object.(type) {
		case *admissionv1.MutatingWebhookConfiguration:
			for i := range configuration.Webhooks {
				configuration.Webhooks[i].TimeoutSeconds = ptr.To[int32](timeout)
			}
			found.MutatingWebhooks = append(found.MutatingWebhooks, configuration)
		case *admissionv1.ValidatingWebhookConfiguration:
			for i := range configuration.Webhooks {
				configuration.Webhooks[i].TimeoutSeconds = ptr.To[int32](timeout)
			}
			found.ValidatingWebhooks = append(found.ValidatingWebhooks, configuration)
		default:
			return found, fmt.Errorf("%s contains a %T, not a webhook configuration", path, object)
		}
	}
}

// definitions returns the CRDs of the options. The API server processes the schemas of all of them whenever one is installed, so they have
// no descriptions of fields, which are two thirds of their size.
func definitions(ctx context.Context, o Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := clusterAPI(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Config != "" {
		own, err := read(filepath.Join(o.Config, "crd", "bases"))
		if err != nil {
			return nil, err
		}
		crds = append(crds, own...)
	}
	for _, crd := range o.CRDs {
		crds = append(crds, crd.DeepCopy())
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if version.Schema != nil {
				omitDescriptions(version.Schema.OpenAPIV3Schema)
			}
		}
	}
	return crds, nil
}

func read(folders ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	options := envtest.CRDInstallOptions{Paths: folders, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&options); err != nil {
		return nil, fmt.Errorf("reading CRDs: %w", err)
	}
	return options.CRDs, nil
}

func omitDescriptions(schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	schema.Description = ""
	for name, property := range schema.Properties {
		omitDescriptions(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		omitDescriptions(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		omitDescriptions(schema.AdditionalProperties.Schema)
	}
}

func address(port int) string { return net.JoinHostPort(ports.Host, strconv.Itoa(port)) }

// clusterAPI returns the CRDs of Cluster API's module that the options name, in the version that the module in the working directory requires.
// They have only the version in which objects are stored: nothing converts to others.
func clusterAPI(ctx context.Context, o Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if !o.ClusterAPI && !o.ControlPlane {
		return nil, nil
	}
	const module = "sigs.k8s.io/cluster-api"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("finding the module %s: %w", module, err)
	}
	var folders []string
	if o.ClusterAPI {
		folders = append(folders, filepath.Join(strings.TrimSpace(string(out)), "core", "config", "crd", "bases"))
	}
	if o.ControlPlane {
		folders = append(folders, filepath.Join(strings.TrimSpace(string(out)), "controlplane", "kubeadm", "config", "crd", "bases"))
	}
	crds, err := read(folders...)
	for _, crd := range crds {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !v.Storage })
	}
	return crds, err
}

// serve serves webhooks until end is called.
func serve(ctx context.Context, env *envtest.Environment, add func(ctrl.Manager) error) (end func() error, err error) {
	local := env.WebhookInstallOptions
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme: env.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: local.LocalServingHost, Port: local.LocalServingPort, CertDir: local.LocalServingCertDir,
		}),
	})
	if err != nil {
		return nil, err
	}
	if err := add(mgr); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // The cleanup of the test must be admitted, too.
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	end = func() error {
		cancel()
		return <-ended
	}
	serving := mgr.GetWebhookServer().StartedChecker()
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		return serving(nil) == nil, nil
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}
