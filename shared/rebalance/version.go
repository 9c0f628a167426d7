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
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OldestTested is the first tested version of the kubeadm control plane provider; later patches of the same minor version are
// also used. docs/decisions/cloned-from.md lists the behavior on which moves depend beyond the provider's contract, and
// e2e/controlplane_test.go checks it in the provider's code. Patches before OldestTested are excluded because they could remove
// an etcd member that was about to join. Review both places before you change it.
const OldestTested = "v1.14.2"

// Tested reports whether moves are tested with a version.
func Tested(text string) bool {
	is, err := version.ParseSemantic(text)
	oldest := version.MustParseSemantic(OldestTested)
	return err == nil && is.AtLeast(oldest) && is.Major() == oldest.Major() && is.Minor() == oldest.Minor()
}

// untested returns why control planes of a version are not made to replace single machines; "" if they can be. "" stands for an
// unknown version.
func untested(text string) string {
	const wayOut = ": set spec.distribution.controlPlane.rebalance to RolloutAfter or Advise"
	switch {
	case text == "":
		return "the version of the kubeadm control-plane provider is unknown, because clusterctl's inventory does not have it: start the manager with " +
			"--kubeadm-control-plane-version, or install the provider with clusterctl; otherwise" + wayOut[1:]
	case !Tested(text):
		return fmt.Sprintf("the kubeadm control-plane provider has version %s, and moves are only tested with %s and its later patch releases%s", text, OldestTested, wayOut)
	}
	return ""
}

// inventory returns the kind with which clusterctl, and the Cluster API operator, record installed providers.
func inventory() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "Provider"}
}

// installed caches the version of the kubeadm control plane provider.
type installed struct {
	mu      sync.Mutex
	version string
	// changes counts how often the version may have changed.
	changes int
}

func (i *installed) known() (version string, changes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.version, i.changes
}

// note caches a version that was read after the given number of changes, unless it may have changed since.
func (i *installed) note(version string, changes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changes == changes {
		i.version = version
	}
}

// forget drops the cached version.
func (i *installed) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.version = ""
	i.changes++
}

// version returns the cached version. It reads the inventory as long as the cached version is not a tested one, for the first
// time when the manager starts.
func (r *Reconciler) version(ctx context.Context) (string, error) {
	known, changes := r.installed.known()
	if Tested(known) {
		return known, nil
	}
	found, listed, err := find(ctx, r.Live)
	if err != nil {
		return "", err
	}
	if listed && r.followInventory != nil {
		if err := r.followInventory(ctx); err != nil {
			return "", err
		}
	}
	found = cmp.Or(found, r.KubeadmVersion)
	r.installed.note(found, changes)
	return found, nil
}

// find reads the version from the inventory. If several entries have different versions, it returns one that is not tested, if
// any. It returns "" and listed false if there is no inventory, or if reading it is forbidden.
func find(ctx context.Context, reader client.Reader) (found string, listed bool, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(inventory())
	if err := reader.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return "", false, nil
		}
		return "", false, fmt.Errorf("reading clusterctl's inventory: %w", err)
	}
	for i := range list.Items {
		if !kubeadmProvider(&list.Items[i]) {
			continue
		}
		has, _, _ := unstructured.NestedString(list.Items[i].Object, "version")
		if found == "" || !Tested(has) {
			found = has
		}
		if !Tested(found) {
			break
		}
	}
	return found, true, nil
}

// kubeadmProvider reports whether an inventory entry is the kubeadm control plane provider.
func kubeadmProvider(entry *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(entry.Object, "providerName")
	kind, _, _ := unstructured.NestedString(entry.Object, "type")
	return name == "kubeadm" && kind == "ControlPlaneProvider"
}
