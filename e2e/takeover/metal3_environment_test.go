//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
	faultlineconversion "github.com/faultline-io/faultline/shared/conversion"
)

const (
	// hostMachines is the initial number of machines of the cluster on hosts, and hostKinds the number of the provider's kinds.
	hostMachines = 6
	hostKinds    = 9
	// hostsPerRack allows all machines that may run in any rack to be in one rack, so that none waits for a host.
	hostsPerRack = 8
)

//go:embed hosts.yaml
var hostsYAML []byte

// bareMetal is an environment with hosts.
type bareMetal struct {
	*environment
	hostCluster
}

// hostCluster is a workload cluster on three racks of simulated hosts, with manifests for upstream's provider.
type hostCluster struct {
	Managed

	racks provider.Simulation
	// older is set if upstream's release has only v1beta1.
	older bool
}

// newBareMetal starts upstream's manager for metal3, with hosts, and everything that it needs. It writes its files to a folder.
func newBareMetal(ctx context.Context, dir string, progress io.Writer, log logr.Logger) (b *bareMetal, err error) {
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	described := metal3.Provider{}.Describe()
	upstream, config, err := builder.UpstreamMetal3(ctx)
	if err != nil {
		return nil, err
	}
	programs, err := builder.Ensure(ctx, append(binaries.Demo(described.Name), binaries.InClusterIPAM)...)
	if err != nil {
		return nil, err
	}
	g, life := newEnvironment(ctx)
	b = &bareMetal{environment: g}
	b.lease = client.ObjectKey{Namespace: described.Namespace, Name: "controller-leader-election-capm3"}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := b.describe(ctx, builder, programs, described.Name); err != nil {
		return b, err
	}
	b.upstream.Program, b.upstream.Config = upstream, config
	if err := b.start(ctx, life, builder, managementcluster.Options{Dir: dir, Programs: programs}, log); err != nil {
		return b, err
	}
	b.Managed = b.managed
	if err := b.management.Apply(ctx, b.upstream); err != nil {
		return b, err
	}
	b.upstream.Objects = nil // They belong to the hosts and not to the manager.
	return b, errors.Join(b.rack(ctx, life), b.version(ctx))
}

// describe returns the components of the two managers. Upstream's uses no lease, as in its Deployment.
func (b *bareMetal) describe(ctx context.Context, builder *binaries.Builder, programs binaries.Paths, name string) error {
	_, clusterAPI, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	objects, err := metal3.Provider{}.Objects()
	if err != nil {
		return err
	}
	b.upstream = managementcluster.Component{Name: binaries.UpstreamMetal3, Objects: objects}
	b.ours = managementcluster.Provider(programs, builder.Root, name)
	b.ours.Args = append(b.ours.Args, "--leader-elect=true", managementcluster.KubeadmVersion(clusterAPI))
	return nil
}

// rack creates hosts, which are registered and inspected.
func (b *bareMetal) rack(ctx, life context.Context) error {
	b.racks = metal3.Racks(hostsPerRack)
	operate, err := b.racks.Join(ctx, b.management, b.Workload)
	if err != nil {
		return err
	}
	b.run(life, operate)
	return nil
}

// version detects the API versions of upstream's release.
func (b *bareMetal) version(ctx context.Context) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.Client.Get(ctx, client.ObjectKey{Name: "metal3machines." + infraGroup}, crd); err != nil {
		return err
	}
	b.older = len(crd.Spec.Versions) == 1
	return nil
}

// createCluster creates the cluster.
func (c hostCluster) createCluster(ctx context.Context) error {
	host, port, err := c.Workload.Endpoint(Namespace, name)
	if err != nil {
		return fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	setup, err := c.racks.Setup("")
	if err != nil {
		return err
	}
	variables := map[string]string{"HOST": host, "PORT": strconv.Itoa(port), "VERSION": binaries.KubernetesVersion, "API": "v1beta2", "FORMAT": "diskFormat"}
	if c.older {
		variables["API"], variables["FORMAT"] = "v1beta1", "format"
	}
	maps.Copy(variables, setup.Variables)
	return c.create(ctx, hostsYAML, variables)
}

// Migrated returns a kind that is not stored only in v1beta2.
func (c hostCluster) Migrated(ctx context.Context) (missing string, err error) {
	return c.migrated(ctx, metal3.Provider{}.Describe().Name, hostKinds)
}

// Gone returns what is left of the cluster: objects, or hosts that differ from before.
func (c hostCluster) Gone(ctx context.Context) (missing string, err error) {
	if left, err := c.gone(ctx, "Metal3Machine", "Metal3DataClaim", "Metal3Data", "Metal3Remediation", "Metal3Cluster"); left != "" || err != nil {
		return left, err
	}
	return c.racks.Leftovers(ctx)
}

// State returns the current state.
func (c hostCluster) State(ctx context.Context) (s HostState, err error) {
	if s.Hosts, err = c.hosts(ctx); err != nil {
		return s, err
	}
	s.Objects = map[string]kept{}
	for _, kind := range []string{"Metal3Cluster", "Metal3Machine", "Metal3MachineTemplate", "Metal3DataTemplate", "Metal3DataClaim", "Metal3Data", "Metal3RemediationTemplate"} {
		list, err := c.list(ctx, "v1beta1", kind)
		if err != nil {
			return s, err
		}
		for i := range list {
			s.Objects[kind+" "+list[i].GetName()] = keptOf(&list[i], list[i].Object["spec"])
		}
	}
	if s.Secrets, err = c.bootSecrets(ctx); err != nil {
		return s, err
	}
	if s.Machines, err = c.machines(ctx); err != nil {
		return s, err
	}
	s.Claims, err = c.claims(ctx)
	return s, err
}

func (c hostCluster) hosts(ctx context.Context) (map[string]host, error) {
	list, err := c.listOf(ctx, "metal3.io", "v1alpha1", "BareMetalHost")
	if err != nil {
		return nil, err
	}
	hosts := map[string]host{}
	for i := range list {
		one := host{
			UID: string(list[i].GetUID()), Labels: list[i].GetLabels(), Finalizers: list[i].GetFinalizers(), Spec: list[i].Object["spec"],
		}
		one.Operation, _, _ = unstructured.NestedString(list[i].Object, "status", "operationalStatus")
		one.Consumer, _, _ = unstructured.NestedString(list[i].Object, "spec", "consumerRef", "name")
		one.State, _, _ = unstructured.NestedString(list[i].Object, "status", "provisioning", "state")
		one.Powered, _, _ = unstructured.NestedBool(list[i].Object, "status", "poweredOn")
		one.Status, _, _ = unstructured.NestedFieldNoCopy(list[i].Object, "status", "provisioning")
		one.History, _, _ = unstructured.NestedFieldNoCopy(list[i].Object, "status", "operationHistory")
		hosts[list[i].GetName()] = one
	}
	return hosts, nil
}

// adopted returns a host that differs from those that ours claims: its machine must not be its owner, it must be moved only when paused,
// and the Secret of its BMC must have no cluster name.
func (c hostCluster) adopted(ctx context.Context) (missing string, err error) {
	list, err := c.listOf(ctx, "metal3.io", "v1alpha1", "BareMetalHost")
	if err != nil {
		return "", err
	}
	for i := range list {
		_, claimed, _ := unstructured.NestedString(list[i].Object, "spec", "consumerRef", "name")
		if _, held := list[i].GetAnnotations()[clusterctlv1.BlockMoveAnnotation]; held != claimed {
			return fmt.Sprintf("host %s is held back from a move if it is claimed, which is %t", list[i].GetName(), claimed), nil
		}
		if owners := list[i].GetOwnerReferences(); len(owners) > 0 {
			return fmt.Sprintf("host %s without an owner, not %v", list[i].GetName(), owners), nil
		}
		secret := &corev1.Secret{}
		name, _, _ := unstructured.NestedString(list[i].Object, "spec", "bmc", "credentialsName")
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: list[i].GetNamespace(), Name: name}, secret); err != nil {
			return "", err
		}
		if cluster := secret.Labels[clusterv1.ClusterNameLabel]; cluster != "" {
			return fmt.Sprintf("Secret %s without a cluster, not of %s", name, cluster), nil
		}
	}
	return "", nil
}

// bootSecrets returns the Secrets of the cluster's machines: user data, metadata and network data.
func (c hostCluster) bootSecrets(ctx context.Context) (map[string]kept, error) {
	list := &corev1.SecretList{}
	if err := c.Client.List(ctx, list, client.InNamespace(Namespace)); err != nil {
		return nil, err
	}
	secrets := map[string]kept{}
	for i := range list.Items {
		secret := &list.Items[i]
		for _, part := range []string{"value", "userData", "metaData", "networkData"} {
			if data, has := secret.Data[part]; has && !strings.HasPrefix(secret.Name, name+"-kubeconfig") {
				secrets[secret.Name] = keptOf(secret, string(data))
			}
		}
	}
	return secrets, nil
}

func keptOf(o client.Object, content any) kept {
	one := kept{
		UID: string(o.GetUID()), Content: withoutEmpty(content), Labels: map[string]string{}, Annotations: map[string]string{},
		Finalizers: slices.Sorted(slices.Values(o.GetFinalizers())),
	}
	maps.Copy(one.Labels, o.GetLabels())
	maps.Copy(one.Annotations, o.GetAnnotations())
	// Fields that v1beta1 does not have are not compared.
	delete(one.Annotations, conversion.DataAnnotation)
	delete(one.Annotations, faultlineconversion.ZeroValuesAnnotation) // docs/migrate-from-upstream.md
	for _, owner := range o.GetOwnerReferences() {
		one.Owners = append(one.Owners, ownerOf(owner))
	}
	slices.Sort(one.Owners)
	return one
}

// ownerOf formats an owner reference without the API version.
func ownerOf(owner metav1.OwnerReference) string {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return fmt.Sprintf("%s %s %s %s controller=%t blocks=%t", group, owner.Kind, owner.Name, owner.UID, owner.Controller != nil && *owner.Controller,
		owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion)
}
