// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package guest_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestWriteBackoff(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.41.0/24", "172.19.41.10", "172.19.41.20")
	c := s.cluster("blue")
	person := integration.User{T: t, G: c.WithT, Client: c.client}
	inGuest, config := person.Contention(c.admin, c.account())
	c.Expect(os.WriteFile(c.kubeconfig, integration.Kubeconfig(person, config, ""), 0o600)).To(Succeed())
	admin, err := clientcmd.RESTConfigFromKubeConfig(sim.Kubeconfig())
	c.Expect(err).NotTo(HaveOccurred())
	onHarvester, config := integration.User{T: t, G: c.WithT, Client: sim.Client()}.Contention(admin, "")
	onHarvester.Events = c.client
	c.Expect(os.WriteFile(c.harvester, integration.Kubeconfig(person, config, s.namespace), 0o600)).To(Succeed())
	c.start()
	service := c.service("web")
	c.waitForAddress("web", "172.19.41.10")
	c.Eventually(func() string { return s.balancers("blue")[0].Status.Address }).Should(Equal("172.19.41.10"))
	inGuest.About(integration.Marked{Object: service, Mark: lbv1.AddressesAnnotation})
	lb := s.balancers("blue")[0]
	onHarvester.About(integration.Marked{Object: &lb, Mark: lbv1.ClusterUIDAnnotation})
}
