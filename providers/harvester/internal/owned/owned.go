// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owned decides which objects belong to a HarvesterCluster, and which others it may use. It sends no requests.
//
// On Harvester, neither a name nor the id of the cluster alone identifies an object, since a copy of the cluster's YAML has the same id.
// An object belongs to the cluster only if it has the id and names the cluster as its owner. A copy of a LoadBalancer or
// IPPool has both, so its name counts, too. No other object is changed. The IPPools to create for a cluster follow from that. YAML is copied with all annotations, so a HarvesterMachine or HarvesterCluster may have the id
// of another, too.
//
// In the management cluster, a HarvesterCluster may use an object in another namespace if that object consents, by an annotation that
// lists the namespaces. Webhooks and controllers both check this, so that bypassing a webhook has no effect.
package owned

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// longestName is the maximum length of the name of a Service.
const longestName = 63

// By is a HarvesterCluster and the name of its Cluster.
type By struct {
	Cluster *infrav1.HarvesterCluster
	Name    string
}

func (b By) id() string { return b.Cluster.ID() }

// Has reports whether an object belongs to the cluster.
func (b By) Has(o client.Object) bool {
	return b.id() != "" && o.GetLabels()[infrav1.ClusterIDLabel] == b.id() && o.GetAnnotations()[infrav1.OwnerAnnotation] == b.owner()
}

// HasNamed reports whether an object belongs to the cluster and has one of the names. Another name shows that it is a copy of the cluster's
// object.
func (b By) HasNamed(o client.Object, names ...string) bool {
	return b.Has(o) && slices.Contains(names, o.GetName())
}

func (b By) owner() string { return infrav1.Owner(b.Cluster.Namespace, b.Cluster.Name) }

// Mark makes an object the cluster's, so that its events enqueue the cluster. It reports whether the object has changed.
func (b By) Mark(o client.Object) bool {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	changed := set(&labels, infrav1.ClusterIDLabel, b.id())
	changed = set(&labels, clusterv1.ClusterNameLabel, b.Name) || changed
	changed = set(&annotations, infrav1.OwnerAnnotation, b.owner()) || changed
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	return changed
}

func set(values *map[string]string, key, value string) bool {
	if (*values)[key] == value {
		return false
	}
	if *values == nil {
		*values = map[string]string{}
	}
	(*values)[key] = value
	return true
}

// NameFor returns the name of an object that a cluster has once. It is descriptive and unique to the cluster.
func (b By) NameFor(what string) string {
	sum := sha256.Sum256([]byte(b.id() + "/" + what))
	end := "-" + what + "-" + hex.EncodeToString(sum[:5])
	start := plain(b.Cluster.Namespace + "-" + b.Cluster.Name)
	return strings.TrimRight(start[:min(len(start), longestName-len(end))], "-") + end
}

// FormerNameFor returns the name that was used before Faultline. Other clusters may have the same.
func (b By) FormerNameFor(what string) string {
	name := plain(b.Cluster.Namespace + "-" + b.Cluster.Name + "-" + what)
	return name[:min(len(name), longestName)]
}

var others = regexp.MustCompile("[^a-z0-9-]")

// plain converts a name to a valid name of a Service.
func plain(name string) string {
	name = strings.Trim(others.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "a-" + name
	}
	return name
}
