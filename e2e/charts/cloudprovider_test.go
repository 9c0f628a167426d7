// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/faultline-io/faultline/e2e/charts"
)

const cloudProvider = charts.CloudProvider

func TestCloudProviderReadsNodeFileByDefault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pod := deployment(t, mustRender(t, load(t, cloudProvider), ``), cloudProvider).Spec.Template.Spec
	g.Expect(container(pod).Args).To(ContainElements("--cloud-provider=harvester", "--cloud-config=/etc/kubernetes/cloud-config"))
	g.Expect(container(pod).VolumeMounts[0].MountPath).To(Equal("/etc/kubernetes/cloud-config"))
	g.Expect(pod.Volumes[0].HostPath.Path).To(Equal("/var/lib/rancher/rke2/etc/config-files/cloud-provider-config"))
	g.Expect(*pod.Volumes[0].HostPath.Type).To(Equal(corev1.HostPathFile))
	g.Expect(container(pod).Image).To(Equal("docker.io/faultline/harvester-cloud-provider:v2.0.0"))
}

func TestCloudProviderPrefersSecret(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pod := deployment(t, mustRender(t, load(t, cloudProvider), `
cloudConfigPath: /etc/kubernetes/other
cloudConfig: {secretName: harvester, secretKey: kubeconfig}
`), cloudProvider).Spec.Template.Spec
	g.Expect(container(pod).Args).To(ContainElement("--cloud-config=/etc/kubernetes/harvester/cloud-config"))
	// A mounted folder follows the Secret, so a restarted container has its current content. A mounted file would not.
	g.Expect(container(pod).VolumeMounts[0].MountPath).To(Equal("/etc/kubernetes/harvester"))
	g.Expect(container(pod).VolumeMounts[0].SubPath).To(BeEmpty())
	g.Expect(pod.Volumes[0].Secret.SecretName).To(Equal("harvester"))
	g.Expect(pod.Volumes[0].Secret.Items).To(Equal([]corev1.KeyToPath{{Key: "kubeconfig", Path: "cloud-config"}}))
	g.Expect(*pod.SecurityContext.RunAsNonRoot).To(BeTrue())
}

func TestCloudProviderChartSupportsHarvesterValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values string
		check  func(g Gomega, d *appsv1.Deployment, vip *appsv1.DaemonSet)
	}{
		"the name of the cluster": {`global: {cattle: {clusterName: red}}`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(container(d.Spec.Template.Spec).Args).To(ContainElement("--cluster-name=red"))
		}},
		"our name of it goes first": {`{clusterName: blue, global: {cattle: {clusterName: red}}}`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(container(d.Spec.Template.Spec).Args).To(ContainElement("--cluster-name=blue"))
		}},
		"a registry": {`global: {cattle: {systemDefaultRegistry: registry.local:5000}}`, func(g Gomega, d *appsv1.Deployment, vip *appsv1.DaemonSet) {
			g.Expect(container(d.Spec.Template.Spec).Image).To(Equal("registry.local:5000/docker.io/faultline/harvester-cloud-provider:v2.0.0"))
			g.Expect(container(vip.Spec.Template.Spec).Image).To(HavePrefix("registry.local:5000/ghcr.io/kube-vip/kube-vip:v"))
		}},
		"the old path": {`cloudConfigPath: /etc/kubernetes/admin.conf`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(d.Spec.Template.Spec.Volumes[0].HostPath.Path).To(Equal("/etc/kubernetes/admin.conf"))
		}},
		"the new path": {`cloudConfig: {hostPath: /etc/kubernetes/harvester.conf}`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(d.Spec.Template.Spec.Volumes[0].HostPath.Path).To(Equal("/etc/kubernetes/harvester.conf"))
		}},
		"arguments": {`extraArgs: ["--management-network=default/vlan1", "--v=5"]`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(container(d.Spec.Template.Spec).Args).To(ContainElements("--management-network=default/vlan1", "--v=5"))
		}},
		"several replicas": {`replicasCount: 3`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(*d.Spec.Replicas).To(Equal(int32(3)))
			g.Expect(d.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels).
				To(Equal(d.Spec.Selector.MatchLabels))
		}},
		"an affinity of one's own": {`affinity: {podAntiAffinity: null, nodeAffinity: null, podAffinity: {}}`, func(g Gomega, d *appsv1.Deployment, _ *appsv1.DaemonSet) {
			g.Expect(d.Spec.Template.Spec.Affinity.PodAffinity).NotTo(BeNil())
			g.Expect(d.Spec.Template.Spec.Affinity.NodeAffinity).To(BeNil())
		}},
		"an election for each Service": {`kube-vip: {env: {svc_election: "true", vip_interface: eth1}}`, func(g Gomega, _ *appsv1.Deployment, vip *appsv1.DaemonSet) {
			g.Expect(env(container(vip.Spec.Template.Spec))).To(And(HaveKeyWithValue("svc_election", "true"),
				HaveKeyWithValue("vip_interface", "eth1"), HaveKeyWithValue("svc_enable", "true"), HaveKeyWithValue("cp_enable", "false")))
		}},
		"a setting that is not a string": {`kube-vip: {env: {svc_election: true, vip_subnet: 24, vip_leaseduration: 15}}`, func(g Gomega, _ *appsv1.Deployment, vip *appsv1.DaemonSet) {
			g.Expect(env(container(vip.Spec.Template.Spec))).To(And(HaveKeyWithValue("svc_election", "true"),
				HaveKeyWithValue("vip_subnet", "24"), HaveKeyWithValue("vip_leaseduration", "15")))
		}},
		"another image of kube-vip": {`kube-vip: {image: {repository: rancher/mirrored-kube-vip-kube-vip-iptables, tag: v1.2.3}}`, func(g Gomega, _ *appsv1.Deployment, vip *appsv1.DaemonSet) {
			g.Expect(container(vip.Spec.Template.Spec).Image).To(Equal("rancher/mirrored-kube-vip-kube-vip-iptables:v1.2.3"))
		}},
		"kube-vip on all nodes": {`kube-vip: {affinity: null, tolerations: []}`, func(g Gomega, _ *appsv1.Deployment, vip *appsv1.DaemonSet) {
			g.Expect(vip.Spec.Template.Spec.Tolerations).To(BeEmpty())
			g.Expect(vip.Spec.Template.Spec.Affinity).To(BeNil())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := mustRender(t, load(t, cloudProvider), c.values)
			c.check(NewWithT(t), deployment(t, all, cloudProvider), get[appsv1.DaemonSet](t, all, "DaemonSet", "kube-vip"))
		})
	}
}

func TestKubeVIPOnControlPlaneAnnouncesServicesOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	vip := get[appsv1.DaemonSet](t, mustRender(t, load(t, cloudProvider), ``), "DaemonSet", "kube-vip").Spec.Template.Spec
	g.Expect(vip.HostNetwork).To(BeTrue())
	terms := vip.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	g.Expect(terms[0].MatchExpressions[0].Key).To(Equal("node-role.kubernetes.io/control-plane"))
	g.Expect(env(container(vip))).To(And(HaveKeyWithValue("vip_arp", "true"), HaveKeyWithValue("svc_enable", "true"), HaveKeyWithValue("cp_enable", "false")))
	g.Expect(container(vip).SecurityContext.Capabilities.Drop).To(ContainElement(corev1.Capability("ALL")))
}

func TestKubeVIPCanBeDisabled(t *testing.T) {
	t.Parallel()
	all := mustRender(t, load(t, cloudProvider), `kube-vip: {enabled: false}`)
	NewWithT(t).Expect(all.find("DaemonSet", "kube-vip")).To(BeNil())
}

func TestDisruptionBudgetWithSeveralReplicas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(mustRender(t, load(t, cloudProvider), ``).find("PodDisruptionBudget", cloudProvider)).To(BeNil())
	g.Expect(mustRender(t, load(t, cloudProvider), `replicasCount: 2`).find("PodDisruptionBudget", cloudProvider)).NotTo(BeNil())
}

func TestCloudProviderChartNamesInvalidValue(t *testing.T) {
	t.Parallel()
	for values, message := range map[string]string{
		`replicasCount: two`:                                    "replicasCount",
		`clusterName: "a b"`:                                    "clusterName",
		`cloudConfig: {hostPath: cloud-config}`:                 "hostPath",
		`cloudConfig: {secretName: [a]}`:                        "secretName",
		`cloudConfigpath: /etc/kubernetes/cloud-config`:         "cloudConfigpath",
		`cloudConfig: {hostPath: ""}`:                           "cloudConfig.secretName or cloudConfig.hostPath must be set",
		`extraArgs: "--v=5"`:                                    "extraArgs",
		`extraArgs: ["management-network=a"]`:                   "extraArgs/0",
		`image: {pullPolicy: Sometimes}`:                        "pullPolicy",
		`image: {repository: rancher/harvester-cloud-provider}`: "image.repository must not be Harvester's own image",
		`tolerations: {}`:                                       "tolerations",
		`kube-vip: {env: {svc_election: "yes"}}`:                "svc_election",
		`kube-vip: {env: {vip_subnet: "/24"}}`:                  "vip_subnet",
		`kube-vip: {svc_election: true}`:                        "svc_election",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			_, err := render(load(t, cloudProvider), values)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)))
		})
	}
}

func TestCloudProviderWritesOnlyItsLease(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, cloudProvider), ``)
	for _, rule := range get[rbacv1.ClusterRole](t, all, "ClusterRole", cloudProvider).Rules {
		g.Expect(rule.Resources).NotTo(ContainElement("leases"))
	}
	leases := []string{"leases"}
	g.Expect(get[rbacv1.Role](t, all, "Role", cloudProvider).Rules).To(ConsistOf(
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: leases, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: leases, Verbs: []string{"get", "update"}, ResourceNames: []string{"cloud-controller-manager"}},
	))
	g.Expect(get[rbacv1.RoleBinding](t, all, "RoleBinding", cloudProvider).RoleRef.Name).To(Equal(cloudProvider))
}
