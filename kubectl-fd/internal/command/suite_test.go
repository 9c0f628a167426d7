// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/kubectl-fd/internal/command"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	"github.com/faultline-io/faultline/shared/testenv"
)

// timeout is a timeout that is sufficient even on a busy machine.
const timeout = time.Minute

// management is the management cluster of all tests, which have a namespace each.
type management struct {
	client     client.WithWatch
	kubeconfig string
}

var shared management

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "kubectl-fd")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// The CRDs of a real provider have the schema that is validated when a client applies.
	providers := filepath.Join("..", "..", "..", "providers")
	others, err := definitions(filepath.Join(providers, "harvester", "config", "loadbalancer", "crd", "bases"))
	if err != nil {
		panic(err)
	}
	options := testenv.Options{Scheme: scheme(), Config: filepath.Join(providers, "metal3", "config"), ClusterAPI: true, CRDs: append(others, bareMetalHosts())}
	testenv.Main(m, options, func(env *envtest.Environment) (err error) {
		shared, err = connect(env, folder)
		if err != nil {
			return err
		}
		if err := shared.client.Create(context.Background(), namespace(fixtureNamespace)); err != nil {
			return err
		}
		for _, observed := range fixtureClusters() {
			if err := shared.put(context.Background(), fixtureNamespace, observed); err != nil {
				return err
			}
		}
		return nil
	})
}

// definitions returns the CRDs in a folder.
func definitions(folder string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, err
		}
		all = append(all, crd)
	}
	return all, err
}

// bareMetalHosts returns a CRD for the operator's kind that accepts any fields.
func bareMetalHosts() *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{Kind: "BareMetalHost", ListKind: "BareMetalHostList", Plural: "baremetalhosts", Singular: "baremetalhost"}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "baremetalhosts.metal3.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "metal3.io", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}}}}},
	}
}

func scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clusterv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, eventsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func connect(env *envtest.Environment, folder string) (management, error) {
	var m management
	var err error
	if m.client, err = client.NewWithWatch(env.Config, client.Options{Scheme: scheme()}); err != nil {
		return m, err
	}
	user, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return m, err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return m, err
	}
	m.kubeconfig = filepath.Join(folder, "kubeconfig")
	return m, os.WriteFile(m.kubeconfig, kubeconfig, 0o600)
}

// put creates a cluster with its infrastructure cluster and its machines.
func (m management) put(ctx context.Context, namespace string, observed report.Observed) error {
	objects := []client.Object{observed.Cluster, observed.Infrastructure}
	for i := range observed.Machines {
		objects = append(objects, &observed.Machines[i])
	}
	for _, object := range objects {
		deleted := !object.GetDeletionTimestamp().IsZero()
		object.SetNamespace(namespace)
		wanted := object.DeepCopyObject().(client.Object)
		if err := m.client.Create(ctx, object); err != nil {
			return err
		}
		wanted.SetResourceVersion(object.GetResourceVersion())
		if err := m.client.Status().Update(ctx, wanted); err != nil {
			return err
		}
		if deleted {
			if err := m.client.Delete(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// result is the outcome of a command line.
type result struct {
	out, err string
	code     int
}

// run runs kubectl fd.
func (m management) run(t *testing.T, args ...string) result {
	t.Helper()
	return m.answer(t, "", args...)
}

// answer runs kubectl fd with standard input.
func (m management) answer(t *testing.T, in string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := command.Main(t.Context(), command.Options{
		IOStreams:   genericiooptions.IOStreams{In: strings.NewReader(in), Out: &out, ErrOut: &errOut},
		Environment: func(string) string { return "" }, Now: fixtureNow, Version: "v0.0.0-test",
	}, append([]string{"--kubeconfig=" + m.kubeconfig, "--cache-dir=" + t.TempDir()}, args...))
	return result{out.String(), errOut.String(), code}
}

// ok runs kubectl fd and returns its output; it must succeed without warnings.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	got := shared.run(t, args...)
	NewWithT(t).Expect(got.code).To(BeZero(), "%v: %s", args, got.err)
	NewWithT(t).Expect(got.err).To(BeEmpty())
	return got.out
}

// refused runs kubectl fd and returns its one-line error message; it must fail without other output.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	g := NewWithT(t)
	got := shared.run(t, args...)
	g.Expect(got.code).To(Equal(1), "%v: %s", args, got.out)
	g.Expect(got.out).To(BeEmpty())
	g.Expect(strings.Count(got.err, "\n")).To(Equal(1), got.err)
	g.Expect(got.err).To(HavePrefix("error: "))
	return strings.TrimSuffix(strings.TrimPrefix(got.err, "error: "), "\n")
}

// own creates the small cluster in a new namespace and returns the namespace.
func own(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	g.Expect(shared.client.Create(t.Context(), ns)).To(Succeed())
	observed := fixtureClusters()[1]
	unstructured.RemoveNestedField(observed.Infrastructure.Object, "spec", "distribution")
	observed.Infrastructure.SetAnnotations(nil)
	g.Expect(shared.put(t.Context(), ns.Name, observed)).To(Succeed())
	return ns.Name
}

// infrastructure reads the infrastructure cluster of the cluster created by own.
func infrastructure(ctx context.Context, namespace string) (*unstructured.Unstructured, error) {
	infra := &unstructured.Unstructured{}
	infra.SetAPIVersion(fixtureVersion)
	infra.SetKind(fixtureKind)
	return infra, shared.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "prod-2"}, infra)
}

// wanted returns the desired states of failure domains.
func wanted(t *testing.T, namespace string) map[string]string {
	t.Helper()
	infra, err := infrastructure(t.Context(), namespace)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	entries, _, _ := unstructured.NestedSlice(infra.Object, "spec", "distribution", "failureDomains")
	states := map[string]string{}
	for _, entry := range entries {
		fields := entry.(map[string]any)
		states[fmt.Sprint(fields["name"])] = fmt.Sprint(fields["state"])
	}
	return states
}

// setState sets the state of a domain, as the provider does.
func setState(ctx context.Context, namespace, domain, state, reason string) error {
	for {
		infra, err := infrastructure(ctx, namespace)
		if err != nil {
			return err
		}
		entries, _, _ := unstructured.NestedSlice(infra.Object, "status", "distribution", "failureDomains")
		for _, entry := range entries {
			if fields := entry.(map[string]any); fields["name"] == domain {
				fields["state"], fields["reason"] = state, reason
			}
		}
		if err := unstructured.SetNestedSlice(infra.Object, entries, "status", "distribution", "failureDomains"); err != nil {
			return err
		}
		if err := shared.client.Status().Update(ctx, infra); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// user grants a user permissions in a namespace and returns the flag to act as that user.
func user(t *testing.T, namespace string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	g := NewWithT(t)
	name := "user-of-" + namespace
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
	g.Expect(shared.client.Create(t.Context(), role)).To(Succeed())
	g.Expect(shared.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	})).To(Succeed())
	return "--as=" + name
}

func may(verbs []string, group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: []string{resource}}
}
