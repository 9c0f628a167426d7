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

// OldestTested is the first version of the kubeadm control-plane provider with which moves are tested; later patches of the same minor are
// used too. What moves need beyond its contract is in docs/decisions/cloned-from.md, and e2e/controlplane_test.go asks the provider's own code for it. It is not
// older because a patch before OldestTested could remove an etcd member that was about to join. Look at those places again before you
// change it.
const OldestTested = "v1.14.2"

// Tested reports whether moves are tested with a version.
func Tested(text string) bool {
	is, err := version.ParseSemantic(text)
	oldest := version.MustParseSemantic(OldestTested)
	return err == nil && is.AtLeast(oldest) && is.Major() == oldest.Major() && is.Minor() == oldest.Minor()
}

// untested says why control planes of a version are not asked to replace single machines, "" if they can be. "" is a version that is not
// known.
func untested(text string) string {
	const wayOut = ": set spec.distribution.controlPlane.rebalance to RolloutAfter or Advise"
	switch {
	case text == "":
		return "the version of the kubeadm control-plane provider is not known, as clusterctl's inventory does not have it: start the manager with " +
			"--kubeadm-control-plane-version, or install the provider with clusterctl; else" + wayOut[1:]
	case !Tested(text):
		return fmt.Sprintf("the kubeadm control-plane provider has version %s, and single moves are tested with %s and later patches of it%s", text, OldestTested, wayOut)
	}
	return ""
}

// inventory is the kind in which clusterctl, and Cluster API's operator, write down what is installed.
func inventory() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "Provider"}
}

// installed remembers the version of the kubeadm control-plane provider.
type installed struct {
	mu      sync.Mutex
	version string
	// changes counts how often it may have become another.
	changes int
}

func (i *installed) known() (version string, changes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.version, i.changes
}

// note remembers what was found after so many changes, unless there was one meanwhile.
func (i *installed) note(version string, changes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changes == changes {
		i.version = version
	}
}

// forget has it looked for again.
func (i *installed) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.version = ""
	i.changes++
}

// version is the one that was found last. While that is none with which moves are tested it is looked for: first when the manager
// starts.
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

// find reads the inventory. Of several providers it is the version of one with which moves are not tested, if there is such a one. Without
// an inventory, or without the right to read it, it is "", and nothing is listed.
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

// kubeadmProvider reports whether an entry of the inventory is about the provider of KubeadmControlPlanes.
func kubeadmProvider(entry *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(entry.Object, "providerName")
	kind, _, _ := unstructured.NestedString(entry.Object, "type")
	return name == "kubeadm" && kind == "ControlPlaneProvider"
}
