// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// ofTenant returns a cluster that references only its own namespace.
func ofTenant() *infrav1.HarvesterCluster {
	cluster := &infrav1.HarvesterCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "c"}, Spec: validCluster()}
	cluster.Spec.IdentitySecret = infrav1.SecretKey{Namespace: "tenant", Name: "own"}
	cluster.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{
		ManifestsConfigMapNamespace: "tenant", ManifestsConfigMapName: "addons", ManifestsConfigMapKey: "all",
		CloudConfigCredentialsSecretName: "cloud-config", CloudConfigCredentialsSecretKey: "cloud-config",
	}
	return cluster
}

// ofTenants returns a validator with two Secrets in another namespace. One of them allows its use.
func ofTenants(options owned.Consent) harvesterCluster {
	secret := func(name, allowed string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "others", Name: name, Annotations: map[string]string{faultlinev1.AllowedNamespacesAnnotation: allowed},
		}}
	}
	c := fake.NewClientBuilder().WithObjects(secret("open", "a,tenant"), secret("closed", "a")).Build()
	return harvesterCluster{Reader: c, Consent: options}
}

func TestValidateCrossNamespace(t *testing.T) {
	t.Parallel()
	uses := func(name string) func(*infrav1.HarvesterCluster) {
		return func(c *infrav1.HarvesterCluster) {
			c.Spec.IdentitySecret = infrav1.SecretKey{Namespace: "others", Name: name}
		}
	}
	into := func(namespace string) func(*infrav1.HarvesterCluster) {
		return func(c *infrav1.HarvesterCluster) {
			c.Spec.UpdateCloudProviderConfig.ManifestsConfigMapNamespace = namespace
		}
	}
	for name, tc := range map[string]struct {
		change          func(*infrav1.HarvesterCluster)
		mode            owned.ConsentMode
		refused, warned string
	}{
		"its own":                        {func(*infrav1.HarvesterCluster) {}, owned.Enforce, "", ""},
		"a Secret that allows it":        {uses("open"), owned.Enforce, "", ""},
		"a Secret that does not":         {uses("closed"), owned.Enforce, "others/closed of spec.identitySecret does not allow its use from namespace tenant", ""},
		"a Secret that there is not":     {uses("none"), owned.Enforce, "others/none of spec.identitySecret does not allow its use from namespace tenant", ""},
		"without a mode":                 {uses("closed"), "", "does not allow its use", ""},
		"a Secret in an earlier release": {uses("closed"), owned.Warn, "", "spec.identitySecret.namespace: Secret others/closed"},
		"an open one in such":            {uses("open"), owned.Warn, "", ""},
		"manifests of others":            {into("others"), owned.Warn, "spec.updateCloudProviderConfig.manifestsConfigMapNamespace: Forbidden: must be tenant", ""},
		"manifests that are allowed":     {into("addons"), owned.Warn, "", ""},
		"manifests of Kubernetes":        {into("kube-system"), owned.Warn, "may not be kube-system", ""},
		"no manifests, which are not set": {func(c *infrav1.HarvesterCluster) {
			c.Spec.UpdateCloudProviderConfig = infrav1.UpdateCloudProviderConfig{}
		}, owned.Enforce, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := ofTenants(owned.Consent{IdentityNamespaces: tc.mode, CloudProviderConfigNamespaces: []string{"addons"}})
			before, after := ofTenant(), ofTenant()
			tc.change(after)
			for _, validate := range []func() (admission.Warnings, field.ErrorList, error){
				func() (admission.Warnings, field.ErrorList, error) { return w.create(t.Context(), after) },
				func() (admission.Warnings, field.ErrorList, error) { return w.update(t.Context(), before, after) },
			} {
				warnings, errs, err := validate()
				g.Expect(err).NotTo(HaveOccurred())
				if tc.refused == "" {
					g.Expect(errs).To(BeEmpty())
				} else {
					g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring(tc.refused)))
				}
				if tc.warned == "" {
					g.Expect(warnings).NotTo(ContainElement(ContainSubstring("does not allow")))
				} else {
					g.Expect(warnings).To(ContainElement(HavePrefix(tc.warned)))
				}
			}
			_, errs, err := w.update(t.Context(), after, after)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(errs).To(BeEmpty(), "what was let in before can be changed elsewhere")
		})
	}
}
