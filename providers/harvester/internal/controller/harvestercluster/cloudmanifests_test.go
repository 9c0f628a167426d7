// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/providers/harvester/internal/controller/harvestercluster"
)

const others = `# Made by hand.
apiVersion: v1
kind: ServiceAccount
metadata: {name: harvester-cloud-provider, namespace: kube-system}
---
{{ not: yaml
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: harvester-cloud-provider, namespace: kube-system} # with a comment
`

func TestWithKubeconfigChangesOnlyItsSecret(t *testing.T) {
	t.Parallel()
	held := "apiVersion: v1\nkind: Secret\nmetadata: {name: cloud-config, namespace: kube-system}\ndata: {kept: Zm9v}\nstringData: {cloud-config: old}\n"
	for name, manifests := range map[string]string{
		"there": others + "---\n" + held, "there, first": held + "---\n" + others, "missing": others,
		"of that name in another namespace": others + "---\n" + strings.ReplaceAll(held, "kube-system", "default"), "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			made, err := harvestercluster.WithKubeconfig(manifests, "cloud-config", "cloud-config", []byte("new"))
			g.Expect(err).NotTo(HaveOccurred())
			if manifests != "" {
				for _, document := range strings.Split(others, "---\n") {
					g.Expect(made).To(ContainSubstring(document))
				}
			}
			var secrets []corev1.Secret
			for _, document := range strings.Split(made, "---\n") {
				secret := corev1.Secret{}
				if yaml.Unmarshal([]byte(document), &secret) == nil && secret.Kind == "Secret" && secret.Namespace == "kube-system" {
					secrets = append(secrets, secret)
				}
			}
			g.Expect(secrets).To(HaveExactElements(And(
				HaveField("Data", HaveKeyWithValue("cloud-config", []byte("new"))), HaveField("StringData", BeEmpty()))))
			again, err := harvestercluster.WithKubeconfig(made, "cloud-config", "cloud-config", []byte("new"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(made))
		})
	}
}

func TestMachinesServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	expose := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kube-vip.io/loadbalancerIPs": "10.0.0.9"}}}
	g.Expect(harvestercluster.MachinesServer(expose, "https://rancher/k8s/clusters/1")).To(Equal("https://10.0.0.9:6443"))
	g.Expect(harvestercluster.MachinesServer(nil, "https://here")).To(Equal("https://here"))
	expose.Annotations["kube-vip.io/loadbalancerIPs"] = "0"
	g.Expect(harvestercluster.MachinesServer(expose, "https://here")).To(Equal("https://here"))
}

func TestCloudProviderKubeconfigUsesNamespaceOfMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	data, err := harvestercluster.CloudProviderKubeconfig("https://10.0.0.9:6443", "vms", []byte("token"), []byte("ca"))
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(clientcmd.Validate(*config)).To(Succeed())
	g.Expect(config.Contexts[config.CurrentContext].Namespace).To(Equal("vms"))
}
