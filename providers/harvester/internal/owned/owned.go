// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owned tells what is a HarvesterCluster's own, and what else it may use. It only computes.
//
// On Harvester a name proves nothing, nor does the id of the cluster alone, which a copy of the cluster's YAML has, too: what has the id and names the
// cluster as its owner is its own, and nothing else is touched. Which IPPools are made on Harvester for a cluster follows from that. YAML is copied
// with all of its annotations, so that a HarvesterMachine or HarvesterCluster may have the id of another, too.
//
// In the management cluster a HarvesterCluster may use what is in another namespace than its own if the object that is used consents, by an annotation
// that names the namespaces. Webhooks and controllers ask here, so that a webhook that is bypassed changes nothing.
package owned

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// longestName is that of a Service.
const longestName = 63

// By is a HarvesterCluster, and the name of its Cluster.
type By struct {
	Cluster *infrav1.HarvesterCluster
	Name    string
}

func (b By) id() string { return b.Cluster.ID() }

// Has reports whether an object is the cluster's.
func (b By) Has(o client.Object) bool {
	return b.id() != "" && o.GetLabels()[infrav1.ClusterIDLabel] == b.id() && o.GetAnnotations()[infrav1.OwnerAnnotation] == b.owner()
}

func (b By) owner() string { return infrav1.Owner(b.Cluster.Namespace, b.Cluster.Name) }

// Mark makes an object the cluster's, and has its events wake the cluster. It reports whether that changes the object.
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

// NameFor is the name of what the cluster has once of a kind. It says what it is, and no other cluster has the same.
func (b By) NameFor(what string) string {
	sum := sha256.Sum256([]byte(b.id() + "/" + what))
	end := "-" + what + "-" + hex.EncodeToString(sum[:5])
	start := plain(b.Cluster.Namespace + "-" + b.Cluster.Name)
	return strings.TrimRight(start[:min(len(start), longestName-len(end))], "-") + end
}

// FormerNameFor is the name that was given before Faultline. Other clusters may have the same.
func (b By) FormerNameFor(what string) string {
	name := plain(b.Cluster.Namespace + "-" + b.Cluster.Name + "-" + what)
	return name[:min(len(name), longestName)]
}

var others = regexp.MustCompile("[^a-z0-9-]")

// plain makes a name that Services can have.
func plain(name string) string {
	name = strings.Trim(others.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "a-" + name
	}
	return name
}
