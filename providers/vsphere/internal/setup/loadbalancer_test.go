// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// balancer is a load balancer with its own name and certificate in front of vCenters. It uses one of them at a time.
type balancer struct {
	front *httptest.Server
	to    atomic.Pointer[url.URL]
}

// newBalancer starts a load balancer. Start it before the manager, so that it ends later.
func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	quiet := log.New(io.Discard, "", 0) // Calls are interrupted.
	b.front = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(b.to.Load()) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		ErrorLog:  quiet,
	})
	b.front.Config.ErrorLog = quiet
	b.front.StartTLS()
	t.Cleanup(b.front.Close)
	return b
}

// use sends new connections to a vCenter and ends the others.
func (b *balancer) use(vc *simulator.Server) {
	b.to.Store(&url.URL{Scheme: "https", Host: vc.Host()})
	b.front.CloseClientConnections()
}

func (b *balancer) host() string { return strings.TrimPrefix(b.front.URL, "https://") }

// adding makes a cluster use the vCenter behind the load balancer, too.
func (b *balancer) adding(c *infrav1.VSphereCluster) {
	adding()(c)
	c.Spec.AdditionalServers = []string{b.host()}
}

// behind makes a zone use the load balancer.
func (b *balancer) behind(z *infrav1.VSphereDeploymentZone) {
	z.Spec.Server, z.Spec.Thumbprint = b.host(), soap.ThumbprintSHA1(b.front.Certificate())
}

// A machine that is not ready yet would be cloned again on the other vCenter, and a deleted one left on the first.
func TestLoadBalancerThatChangesTheVCenter(t *testing.T) {
	t.Parallel()
	b := newBalancer(t)
	second, third := simulator.Start(t, simulator.ThreeZones()), simulator.Start(t, simulator.ThreeZones())
	b.use(second)
	w := newFixture(t, simulator.ThreeZones())
	near, far := w.zoneAt(w.vc, "a"), w.zoneAt(second, "b", b.behind)
	cluster := w.cluster("one", b.adding)
	w.waitForPublished(cluster, near.Name, far.Name)
	runs := w.machine("one", "runs", far.Name)
	w.waitForCondition(runs, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	second.HoldTasks("PowerOnVM_Task")
	starts := w.machine("one", "starts", far.Name)
	w.Eventually(func() string { return w.vsphereVM("starts").Status.VMRef }).ShouldNot(BeEmpty())

	b.use(third)
	w.waitForOtherVCenter(b, cluster, far)
	w.waitForPublished(cluster, near.Name)
	_, known := domain(cluster, far.Name)
	w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned))
	w.Expect(known.Reason).To(Equal(infrav1.VCenterChangedReason))
	w.get(runs)
	w.Expect(conditions.IsTrue(runs, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(runs))
	w.waitForProvisioned(w.machine("one", "near", near.Name))
	w.Expect(w.client.Delete(t.Context(), runs)).To(Succeed())
	w.waitForCondition(w.vsphereVM("runs"), provisionedCondition, infrav1.VSphereVMVirtualMachineDeletingReason)

	w.stop()
	w.start() // The next manager knows the vCenter from the status.
	w.waitForOtherVCenter(b, cluster, far)
	w.Expect(vmsOn(third)).To(BeEmpty())
	w.Expect(third.Calls()).NotTo(HaveKey("CloneVM_Task"))
	w.Expect(vmsOn(second)).To(ConsistOf("runs", "starts"))

	second.ReleaseTasks("PowerOnVM_Task")
	b.use(second)
	w.waitForDeletion(runs)
	w.waitForProvisioned(starts)
	w.waitForPublished(cluster, near.Name, far.Name)
	w.Expect(vmsOn(second)).To(ConsistOf("starts"))
}

// waitForOtherVCenter waits until everything that uses the load balancer reports that the vCenter is another one.
func (w *fixture) waitForOtherVCenter(b *balancer, cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone) {
	w.t.Helper()
	message := w.waitForServer(cluster, b.host(), infrav1.VCenterChangedReason)
	w.Expect(message).To(And(ContainSubstring(b.host()), MatchRegexp("instance UUID [-0-9a-f]{36} and not [-0-9a-f]{36}"), ContainSubstring("load balancer")))
	w.waitForCondition(zone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.VCenterChangedReason)
	w.waitForCondition(w.vsphereVM("starts"), infrav1.VSphereVMVCenterAvailableCondition, infrav1.VCenterChangedReason)
}
