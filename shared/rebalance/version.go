// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/machines"
)

// untested returns why control planes of a kind whose provider has a version are not made to replace single machines; "" if they
// can be. "" stands for an unknown version.
func untested(of machines.ControlPlaneFacts, text string) string {
	wayOut := ": set spec.distribution.controlPlane.rebalance to RolloutAfter or Advise"
	if of.RolloutAfter == nil {
		wayOut = ": set spec.distribution.controlPlane.rebalance to Advise"
	}
	switch {
	case text == "":
		return fmt.Sprintf("the version of the %s control-plane provider is unknown, because clusterctl's inventory does not have it: start the manager with "+
			"--%s, or install the provider with clusterctl; otherwise%s", of.Provider, VersionFlag(of), wayOut[1:])
	case !of.Tested(text):
		return fmt.Sprintf("the %s control-plane provider has version %s, and moves are only tested with %s and its later patch releases%s",
			of.Provider, text, of.OldestTested, wayOut)
	}
	return ""
}

// VersionFlag returns the name of the flag with the version of a control-plane provider.
func VersionFlag(of machines.ControlPlaneFacts) string { return of.Provider + "-control-plane-version" }

// inventory returns the kind with which clusterctl, and the Cluster API operator, record installed providers.
func inventory() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "Provider"}
}

// installed caches the versions of control-plane providers.
type installed struct {
	mu       sync.Mutex
	versions map[string]string
	// changes counts how often a version may have changed.
	changes int
}

func (i *installed) known(provider string) (version string, changes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.versions[provider], i.changes
}

// note caches a version that was read after the given number of changes, unless it may have changed since.
func (i *installed) note(provider, version string, changes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changes == changes {
		if i.versions == nil {
			i.versions = map[string]string{}
		}
		i.versions[provider] = version
	}
}

// forget drops the cached versions.
func (i *installed) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.versions = nil
	i.changes++
}

// version returns the cached version of a kind's provider. It reads the inventory as long as the cached version is not a tested
// one, for the first time when the manager starts.
func (r *Reconciler) version(ctx context.Context, of machines.ControlPlaneFacts) (string, error) {
	known, changes := r.installed.known(of.Provider)
	if of.Tested(known) {
		return known, nil
	}
	found, listed, err := find(ctx, r.Live, of)
	if err != nil {
		return "", err
	}
	if listed && r.followInventory != nil {
		if err := r.followInventory(ctx); err != nil {
			return "", err
		}
	}
	found = cmp.Or(found, r.Versions[of.Provider])
	r.installed.note(of.Provider, found, changes)
	return found, nil
}

// find reads the version of a provider from the inventory. If several entries have different versions, it returns one that is not
// tested, if any. It returns "" and listed false if there is no inventory, or if reading it is forbidden.
func find(ctx context.Context, reader client.Reader, of machines.ControlPlaneFacts) (found string, listed bool, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(inventory())
	if err := reader.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return "", false, nil
		}
		return "", false, fmt.Errorf("reading clusterctl's inventory: %w", err)
	}
	for i := range list.Items {
		if controlPlaneProvider(&list.Items[i]) != of.Provider {
			continue
		}
		has, _, _ := unstructured.NestedString(list.Items[i].Object, "version")
		if found == "" || !of.Tested(has) {
			found = has
		}
		if !of.Tested(found) {
			break
		}
	}
	return found, true, nil
}

// controlPlaneProvider returns the name of the control-plane provider that an inventory entry is about; "" if it is about another
// type of provider.
func controlPlaneProvider(entry *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(entry.Object, "providerName")
	if kind, _, _ := unstructured.NestedString(entry.Object, "type"); kind != "ControlPlaneProvider" {
		return ""
	}
	return name
}
