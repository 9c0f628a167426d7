// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestMayUseIdentity(t *testing.T) {
	t.Parallel()
	for annotation, allowed := range map[string]bool{
		"": false, " ": false, ",": false, "a": true, "b": false, "aa,b": false, "b,a": true, "b, a ,c": true, "*": true, "b,*": true, "a*": false, "[a]": false,
	} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: "owner", Name: "s", Annotations: map[string]string{faultlinev1.AllowedNamespacesAnnotation: annotation},
			}}
			g.Expect(owned.MayUseIdentity(secret, "a")).To(Equal(allowed))
			g.Expect(owned.MayUseIdentity(secret, "owner")).To(BeTrue())
		})
	}
	NewWithT(t).Expect(owned.MayUseIdentity(&metav1.PartialObjectMetadata{}, "a")).To(BeFalse(), "without an annotation")
}

func TestConsentUnderTheFormerNameCountsUnlessTheAnnotationIsSet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{faultlinev1.FormerName(faultlinev1.AllowedNamespacesAnnotation): "a"},
	}}
	g.Expect(owned.Allows(secret, "a")).To(BeTrue())
	g.Expect(owned.Allows(secret, "b")).To(BeFalse())
	secret.Annotations[faultlinev1.AllowedNamespacesAnnotation] = ""
	g.Expect(owned.Allows(secret, "a")).To(BeFalse(), "it was withdrawn")
}

func TestInvalidConsentMode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	options, flags := owned.Consent{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
	options.AddFlags(flags)
	g.Expect(options.IdentityNamespaces).To(Equal(owned.Warn))
	g.Expect(flags.Parse([]string{"--identity-namespaces=off"})).To(MatchError(ContainSubstring("must be warn or enforce")))
	g.Expect(flags.Parse([]string{"--identity-namespaces=enforce", `--cloud-provider-config-namespaces=""`})).To(Succeed())
	// These are the defaults of the manifests: clusterctl does not support an empty default without quotation marks.
	g.Expect(options).To(Equal(owned.Consent{IdentityNamespaces: owned.Enforce, CloudProviderConfigNamespaces: []string{""}}))
	g.Expect(options.NoManifests("b", "a")).To(ContainSubstring("must be a"))
}

func TestNoManifests(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	options := owned.Consent{CloudProviderConfigNamespaces: []string{"addons", "kube-system"}}
	g.Expect(options.NoManifests("a", "a")).To(BeEmpty())
	g.Expect(options.NoManifests("addons", "a")).To(BeEmpty())
	g.Expect(options.NoManifests("b", "a")).To(ContainSubstring("must be a"))
	g.Expect(options.NoManifests("kube-system", "a")).To(ContainSubstring("may not be kube-system"))
	g.Expect(options.NoManifests("kube-public", "kube-public")).To(ContainSubstring("may not be kube-public"))
}
