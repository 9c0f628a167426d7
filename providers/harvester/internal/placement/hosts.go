// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// runsMachinesLabel on a host of Harvester is set by KubeVirt. It is "false" while KubeVirt cannot start virtual machines on a host.
const runsMachinesLabel = "kubevirt.io/schedulable"

// namesInMessage limits how many hosts or domains a message lists.
const namesInMessage = 10

// Host holds the relevant fields of a Node of Harvester.
type Host struct {
	Name string
	// Hostname is the value of the label kubernetes.io/hostname, which may differ from the name.
	Hostname string
	Labels   map[string]string
	// Ready reports that the host can run virtual machines now.
	Ready bool
	// Schedulable reports that the host accepts new virtual machines: it is not cordoned and has no taint that repels them.
	Schedulable bool
	// Witness reports that the host never runs virtual machines.
	Witness bool
	// NotReady is the kubelet's reason for not being ready, as Kubernetes reports it; "" if it is ready. In contrast to Ready, it is not
	// affected if only KubeVirt cannot start virtual machines: those that already run there are not in doubt.
	NotReady string
}

// Hosts converts Nodes of Harvester, and sorts them by name.
func Hosts(nodes []corev1.Node) []Host {
	hosts := make([]Host, len(nodes))
	for i := range nodes {
		hosts[i] = HostOf(&nodes[i])
	}
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}

// HostOf converts a Node of Harvester. Its role in Harvester does not matter: management hosts also run virtual machines, unless a taint
// prevents it.
func HostOf(node *corev1.Node) Host {
	return Host{
		Name:        node.Name,
		Hostname:    cmp.Or(node.Labels[corev1.LabelHostname], node.Name),
		Labels:      node.Labels,
		Ready:       node.DeletionTimestamp.IsZero() && ready(node) && node.Labels[runsMachinesLabel] != "false",
		Schedulable: !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, repels),
		Witness:     isSet(node.Labels, infrav1.WitnessLabel),
		NotReady:    notReady(node),
	}
}

func ready(node *corev1.Node) bool { return notReady(node) == "" }

func notReady(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			return ""
		default:
			return fmt.Sprintf("Ready=%s %s: %s", c.Status, c.Reason, strings.TrimSuffix(c.Message, "."))
		}
	}
	return "it has no Ready condition"
}

// NotReady returns why the host of that name is not ready; "" if it is ready or unknown.
func NotReady(hosts []Host, name string) string {
	at := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if at < 0 {
		return ""
	}
	return hosts[at].NotReady
}

// repels ignores the taints that Kubernetes sets on hosts that are not ready, because Ready already covers these.
func repels(taint corev1.Taint) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
		taint.Key != corev1.TaintNodeNotReady && taint.Key != corev1.TaintNodeUnreachable
}

func isSet(labels map[string]string, key string) bool {
	value, ok := labels[key]
	return ok && value != "false"
}

// filterHosts returns the hosts that can be in failure domains and satisfy match.
func filterHosts(hosts []Host, match func(Host) bool) []Host {
	var found []Host
	for _, host := range hosts {
		if !host.Witness && match(host) {
			found = append(found, host)
		}
	}
	return found
}

// hostNames formats hosts for a message.
func hostNames(hosts []Host) string {
	list := make([]string, 0, len(hosts))
	for _, host := range hosts {
		list = append(list, host.Name)
	}
	return joinLimited(list)
}

func joinLimited(all []string) string {
	if more := len(all) - namesInMessage; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:namesInMessage], ", "), more)
	}
	return strings.Join(all, ", ")
}
