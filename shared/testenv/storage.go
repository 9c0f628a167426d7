// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StoredIn sets the stored versions in the status of every CRD of the components, like those of an earlier release.
func (c *Components) StoredIn(t *testing.T, api client.Client, versions ...string) {
	t.Helper()
	for _, crd := range c.kinds("CustomResourceDefinition") {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			installed := &apiextensionsv1.CustomResourceDefinition{}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(crd), installed); err != nil {
				return err
			}
			installed.Status.StoredVersions = versions
			return api.Status().Update(t.Context(), installed)
		})
		if err != nil {
			t.Fatalf("CRD %s: %v", crd.GetName(), err)
		}
	}
}

// AwaitStoredIn waits until the stored versions of every CRD of the components are exactly these.
func (c *Components) AwaitStoredIn(t *testing.T, api client.Client, within time.Duration, versions ...string) {
	t.Helper()
	crds := c.kinds("CustomResourceDefinition")
	if len(crds) == 0 {
		t.Fatal("the components have no CRD")
	}
	for _, crd := range crds {
		installed := &apiextensionsv1.CustomResourceDefinition{}
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, within, true, func(ctx context.Context) (bool, error) {
			err := api.Get(ctx, client.ObjectKeyFromObject(crd), installed)
			return slices.Equal(installed.Status.StoredVersions, versions), err
		})
		if err != nil {
			t.Fatalf("CRD %s: objects are stored in %v, not %v: %v", crd.GetName(), installed.Status.StoredVersions, versions, err)
		}
	}
}
