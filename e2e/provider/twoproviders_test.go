// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider_test

import (
	"context"
	"io"
	"maps"
	"os"
	"regexp"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/shared/integration"
)

// providerFixture is one of the providers with its cluster.
type providerFixture struct {
	*WithT
	name         string
	provider     provider.ChaosProvider
	installation *provider.Installation
	client       client.Client
	target       provider.Target
}

// Each provider has a machine that names its failure domain, and a worker that is assigned one, so that the shared code of all providers
// runs in both managers.
func TestTwoProvidersInOneManagementCluster(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	g := integration.NewGomega(t)
	sides := []*providerFixture{{WithT: g, name: "vsphere"}, {WithT: g, name: "metal3"}}
	dir, programs := t.TempDir(), binaries.Paths{}
	var components []managementcluster.Component
	for _, s := range sides {
		var err error
		s.provider, err = all.Named[provider.ChaosProvider](s.name)
		g.Expect(err).NotTo(HaveOccurred())
		s.installation, err = provider.Install(t.Context(), s.provider, os.Stderr)
		g.Expect(err).NotTo(HaveOccurred())
		maps.Copy(programs, s.installation.Programs)
		component := s.installation.Component()
		if len(components) > 0 { // the first one includes Cluster API's objects
			component.Objects, err = s.provider.Objects()
			g.Expect(err).NotTo(HaveOccurred())
		}
		components = append(components, component)
	}
	management, err := managementcluster.Start(t.Context(), managementcluster.Options{Dir: dir, Programs: programs, Components: components})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(management.Stop)
	for _, s := range sides {
		s.begin(t, management)
	}
	for _, s := range sides {
		g.Eventually(func(g Gomega) {
			seen, err := s.target.Observe(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			for _, machine := range []string{"named", "spread"} {
				g.Expect(seen.Machines[machine].Ready).To(BeTrue(), "%s of %s: %v", machine, s.name, seen.Machines[machine])
			}
		}).Should(Succeed())
	}
	for i, s := range sides {
		s.isWrittenByItsOwn(t.Context(), manager(s.name), manager(sides[1-i].name))
		s.countsItsOwn(t.Context(), management)
	}
}

// manager returns the field manager of a provider's manager.
func manager(name string) string { return "faultline-" + name + "-manager" }

// begin creates an infrastructure with a cluster whose workers are spread, and two machines.
func (s *providerFixture) begin(t *testing.T, management *managementcluster.Cluster) {
	t.Helper()
	c, err := provider.Connect(s.provider, management.RESTConfig)
	s.Expect(err).NotTo(HaveOccurred())
	s.client = c
	s.target, err = s.provider.Modes()[0].NewTarget(t.Context(), provider.TargetOptions{
		Cluster: "on-" + s.name, Seed: 1, Management: management, Client: c, Programs: s.installation.Assets, Capacity: func(int) int { return 2 },
	})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.target.Close)
	spread := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"distribution":{"workers":{"enabled":true}}}}`))
	s.Expect(c.Patch(t.Context(), s.infrastructure("Cluster", s.target.Cluster().Name), spread)).To(Succeed())
	s.target.Cluster().Deployment = "md"
	for name, domain := range map[string]string{"named": s.target.Domains()[0], "spread": ""} {
		meta, err := s.target.Cluster().CreateMachine(t.Context(), c, name, domain)
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(c.Create(t.Context(), s.target.Machine(meta))).To(Succeed())
	}
}

// infrastructure returns an object of the provider.
func (s *providerFixture) infrastructure(of, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: clusterv1.GroupVersionInfrastructure.Group, Version: "v1beta2", Kind: s.target.Cluster().Kind + of})
	o.SetNamespace(s.target.Cluster().Name)
	o.SetName(name)
	return o
}

// isWrittenByItsOwn verifies which managers have written to the objects of the cluster.
func (s *providerFixture) isWrittenByItsOwn(ctx context.Context, own, other string) {
	for _, of := range []string{"Cluster", "Machine"} {
		infra := &unstructured.UnstructuredList{}
		infra.SetGroupVersionKind(s.infrastructure(of+"List", "").GroupVersionKind())
		s.Expect(s.client.List(ctx, infra, client.InNamespace(s.target.Cluster().Name))).To(Succeed())
		s.Expect(infra.Items).NotTo(BeEmpty())
		for i := range infra.Items {
			s.Expect(writers(&infra.Items[i])).To(And(HaveKey(own), Not(HaveKey(other))), "%s %s", of, infra.Items[i].GetName())
		}
	}
	machines, clusters, secrets := &clusterv1.MachineList{}, &clusterv1.ClusterList{}, &corev1.SecretList{}
	for _, list := range []client.ObjectList{machines, clusters, secrets} {
		s.Expect(s.client.List(ctx, list, client.InNamespace(s.target.Cluster().Name))).To(Succeed())
	}
	var objects []client.Object
	for i := range machines.Items {
		objects = append(objects, &machines.Items[i])
	}
	for i := range clusters.Items {
		objects = append(objects, &clusters.Items[i])
	}
	for i := range secrets.Items {
		objects = append(objects, &secrets.Items[i])
	}
	for _, o := range objects {
		s.Expect(writers(o)).NotTo(HaveKey(other), "%T %s", o, o.GetName())
	}
}

func writers(o client.Object) map[string]bool {
	all := map[string]bool{}
	for _, fields := range o.GetManagedFields() {
		all[fields.Manager] = true
	}
	return all
}

// countsItsOwn verifies that the manager's metrics are only about its own clusters.
func (s *providerFixture) countsItsOwn(ctx context.Context, management *managementcluster.Cluster) {
	series := regexp.MustCompile(`(?m)^faultline_failure_domain_[a-z_]+\{.*?namespace="([^"]*)"`)
	process, err := management.Process(binaries.Provider(s.name))
	s.Expect(err).NotTo(HaveOccurred())
	found := map[string]bool{}
	s.Expect(managementcluster.Read(ctx, process.Metrics, func(metrics io.Reader) error {
		text, err := io.ReadAll(metrics)
		for _, match := range series.FindAllStringSubmatch(string(text), -1) {
			found[match[1]] = true
		}
		return err
	})).To(Succeed())
	s.Expect(found).To(Equal(map[string]bool{s.target.Cluster().Name: true}), process.Name)
}
