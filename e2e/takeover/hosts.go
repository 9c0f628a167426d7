// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HostState is all that a change of managers must leave as it was, on bare metal.
type HostState struct {
	// Hosts are BareMetalHosts by name.
	Hosts map[string]host
	// Objects are the provider's in v1beta1, by kind and name.
	Objects map[string]kept
	// Secrets are those that hosts boot with, by name.
	Secrets map[string]kept
	// Machines are what Cluster API knows of its Machines, by name.
	Machines map[string]machine
	// Claims are IPAddressClaims with what they were given, by name.
	Claims map[string]claim
}

// host is what the bare-metal operator is told, and what it has done.
type host struct {
	UID, Operation        string
	Consumer, State       string // of the spec and of the status
	Powered               bool
	Labels                map[string]string
	Finalizers            []string
	Spec, Status, History any
}

// kept is what the provider, others and people have written.
type kept struct {
	UID                 string
	Content             any
	Labels, Annotations map[string]string
	Finalizers, Owners  []string
}

// Differences says in words what is not the same.
func (s HostState) Differences(now HostState) []string {
	return slices.Concat(
		compare("host", s.Hosts, now.Hosts), compare("object", s.Objects, now.Objects), compare("Secret", s.Secrets, now.Secrets),
		compare("Machine", s.Machines, now.Machines), compare("IPAddressClaim", s.Claims, now.Claims),
	)
}

// State is that of today.
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

// adopted says which host is not as ours claims it: its machine is not its owner, it is not moved before it is paused, and the Secret of its
// BMC is no cluster's.
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
			return fmt.Sprintf("Secret %s is no cluster's, not that of %s", name, cluster), nil
		}
	}
	return "", nil
}

// bootSecrets are the Secrets of the cluster's machines: user data, metadata and network data.
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
	// What v1beta1 cannot say is not what is compared.
	delete(one.Annotations, conversion.DataAnnotation)
	for _, owner := range o.GetOwnerReferences() {
		one.Owners = append(one.Owners, ownerOf(owner))
	}
	slices.Sort(one.Owners)
	return one
}

// withoutEmpty is a value without fields that have nothing in them: who writes them all and who leaves them out say the same.
func withoutEmpty(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		if list, ok := value.([]any); ok {
			out := make([]any, 0, len(list))
			for _, item := range list {
				out = append(out, withoutEmpty(item))
			}
			return out
		}
		return value
	}
	out := map[string]any{}
	for name, field := range fields {
		if field = withoutEmpty(field); !slices.ContainsFunc(nothing(), func(empty any) bool { return reflect.DeepEqual(field, empty) }) {
			out[name] = field
		}
	}
	return out
}

func nothing() []any { return []any{nil, "", map[string]any{}, []any{}} }

// ownerOf does not say in which version the owner is.
func ownerOf(owner metav1.OwnerReference) string {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return fmt.Sprintf("%s %s %s %s controller=%t blocks=%t", group, owner.Kind, owner.Name, owner.UID, owner.Controller != nil && *owner.Controller,
		owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion)
}
