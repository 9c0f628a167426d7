// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const decodedMachine = `{
	"metadata": {
		"name": "NAME", "namespace": "ns", "labels": {"cluster.x-k8s.io/cluster-name": "prod"}, "annotations": {"an/annotation": "of both"},
		"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "set", "uid": "one"}],
		"managedFields": [{"manager": "another"}]
	},
	"spec": {"clusterName": "prod", "bootstrap": {"dataSecretName": "secret"}, "failureDomain": "rack-1"},
	"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}, {"type": "A"}, {"type": "B"}], "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}
}`

// kept returns a Machine from the API server in the form in which the manager's cache stores it.
func kept(t *testing.T, options cache.Options, name string) *clusterv1.Machine {
	t.Helper()
	g := NewWithT(t)
	machine := &clusterv1.Machine{}
	g.Expect(json.Unmarshal([]byte(strings.ReplaceAll(decodedMachine, "NAME", name)), machine)).To(Succeed())
	transform := options.DefaultTransform
	for kind, how := range options.ByObject {
		if _, ok := kind.(*clusterv1.Machine); ok {
			transform = how.Transform
		}
	}
	o, err := transform(machine)
	g.Expect(err).NotTo(HaveOccurred())
	return o.(*clusterv1.Machine)
}

func TestSlicesAreClipped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	machine := kept(t, (&Options{}).cacheOptions(Provider{Cache: StripObjects}), "a")
	g.Expect(machine.Status.Conditions).To(HaveLen(3))
	g.Expect(machine.Status.Conditions).To(HaveCap(3))
	g.Expect(machine.Finalizers).To(BeNil())
}

func TestEqualValuesAreShared(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]Provider{"a kind with a transformation of its own": {Cache: StripObjects}, "another": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			a, b, copied := shared(t, provider)
			for range 4 { // The seed is random: occasionally two of the strings evict each other.
				if len(copied) == 0 {
					break
				}
				a, b, copied = shared(t, provider)
			}
			g.Expect(copied).To(BeEmpty())
			g.Expect(a.ManagedFields).To(BeEmpty())
			plain := &clusterv1.Machine{}
			g.Expect(json.Unmarshal([]byte(strings.ReplaceAll(decodedMachine, "NAME", "b")), plain)).To(Succeed())
			plain.ManagedFields = nil
			if name != "another" {
				plain.Status.Addresses = nil
			}
			g.Expect(b).To(Equal(plain), "nothing is another")
		})
	}
}

// shared returns two Machines as a new cache stores them, and the equal values that are not shared.
func shared(t *testing.T, provider Provider) (a, b *clusterv1.Machine, copied []string) {
	t.Helper()
	g := NewWithT(t)
	options := (&Options{}).cacheOptions(provider)
	a, b = kept(t, options, "a"), kept(t, options, "b")
	for _, pair := range [][2]string{
		{a.Namespace, b.Namespace}, {key(a.Labels), key(b.Labels)}, {a.Labels[clusterv1.ClusterNameLabel], b.Labels[clusterv1.ClusterNameLabel]},
		{a.Annotations["an/annotation"], b.Annotations["an/annotation"]}, {a.OwnerReferences[0].Kind, b.OwnerReferences[0].Kind},
		{a.Spec.FailureDomain, b.Spec.FailureDomain}, {*a.Spec.Bootstrap.DataSecretName, *b.Spec.Bootstrap.DataSecretName},
		{a.Status.Conditions[0].Type, b.Status.Conditions[0].Type}, {a.Status.Conditions[0].Reason, a.Status.Conditions[0].Type},
	} {
		g.Expect(pair[0]).To(Equal(pair[1]))
		if unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			copied = append(copied, pair[0])
		}
	}
	if reflect.ValueOf(a.Labels).Pointer() != reflect.ValueOf(b.Labels).Pointer() {
		copied = append(copied, "labels")
	}
	return a, b, copied
}

func key(labels map[string]string) string {
	for key := range labels {
		return key
	}
	return ""
}

func TestSharerEviction(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSharer()
	for i := range 2 * knownStrings {
		text := strconv.Itoa(i)
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: text, Labels: map[string]string{"number": text, text: "number"}}}
		before := o.DeepCopy()
		s.share(reflect.ValueOf(o))
		if !reflect.DeepEqual(o, before) {
			g.Expect(o).To(Equal(before))
		}
	}
}

func TestLargeAnnotationsOfDeletedObjectsAreNotKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSharer()
	for i := range 100 {
		name := strconv.Itoa(i)
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: strings.Repeat(name, 10_000), "small": name,
		}}}
		before := o.DeepCopy()
		s.share(reflect.ValueOf(o))
		g.Expect(o).To(Equal(before))
	}
	for _, texts := range s.maps {
		g.Expect(texts).To(BeEmpty())
	}
}

func TestTransformKeepsOtherObjects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	options := (&Options{}).cacheOptions(Provider{Cache: StripObjects})
	for _, o := range []any{
		toolscache.DeletedFinalStateUnknown{Key: "ns/a"},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string][]byte{"key": []byte("value")}},
		&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
	} {
		before := o
		if object, ok := o.(client.Object); ok {
			before = object.DeepCopyObject()
		}
		after, err := options.DefaultTransform(o)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(after).To(Equal(before))
	}
}

func TestSecretsAreStripped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "label"}, Annotations: map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "{password}", faultlinev1.AllowedNamespacesAnnotation: "tenant",
	}}}
	kept, err := stripSecret(secret)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveField("ObjectMeta", Equal(metav1.ObjectMeta{
		Name: "a", Annotations: map[string]string{faultlinev1.AllowedNamespacesAnnotation: "tenant"},
	})))
	former := &metav1.PartialObjectMetadata{}
	former.Annotations = map[string]string{faultlinev1.FormerName(faultlinev1.AllowedNamespacesAnnotation): "tenant"}
	kept, err = stripSecret(former)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveField("Annotations", Equal(map[string]string{faultlinev1.AllowedNamespacesAnnotation: "tenant"})))
}
