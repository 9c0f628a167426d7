// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestDeleteWaitsForMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	machine := &infrav1.HarvesterMachine{ObjectMeta: w.meta("m")}
	machine.Labels[clusterv1.ClusterNameLabel] = "c"
	machine.Spec = infrav1.HarvesterMachineSpec{CPU: 1, Memory: "1Gi", Volumes: []infrav1.Volume{{VolumeType: "image", ImageName: "ubuntu"}}}
	w.Expect(user.Create(t.Context(), machine)).To(Succeed())
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.Expect(w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.WaitingForMachinesReason)).To(ContainSubstring("HarvesterMachine m"))
	w.Expect(w.balancers()).To(HaveLen(1), "its machines are reached by it")
	w.Expect(user.Delete(t.Context(), machine)).To(Succeed())
	w.waitForDeletion(cluster)
	w.expectNoLoadBalancers()
}

func TestDeleteWithAbandonAnnotationNeedsNoHarvester(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	w.identity(unreachableKubeconfig())
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.Expect(w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)).To(ContainSubstring(infrav1.AbandonAnnotation))
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) {
		cluster.Annotations[faultlinev1.FormerName(infrav1.AbandonAnnotation)] = ""
	})
	w.waitForDeletion(cluster)
	w.Expect(w.balancers()).To(HaveLen(1))
}

func TestDeleteUsesOpenConnectionWithoutSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	w.Expect(user.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta("identity")})).To(Succeed())
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.IdentitySecretNotFoundReason)
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.waitForDeletion(cluster)
	w.expectNoLoadBalancers()
}

func TestDeleteAfterRestartLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	w.stop()
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations[infrav1.AbandonAnnotation] = "" })
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.start()
	w.waitForDeletion(cluster)
	w.expectNoLoadBalancers()
}

func TestDeleteWithoutObjectsNeedsNoHarvester(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.identity(unreachableKubeconfig())
	cluster := w.cluster("c", givenEndpoint)
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.remove(cluster)
}

func TestDeleteKeepsPoolWithAllocatedAddresses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", fromPool(7), func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.LoadBalancerConfig.IPPool.RangeEnd = "10.77.7.19"
	})
	w.waitForProvisioned(cluster)
	pool := w.poolOf(cluster, owned.LoadBalancerPool)
	lb := &lbv1.LoadBalancer{ObjectMeta: w.meta("lb"), Spec: lbv1.LoadBalancerSpec{IPAM: lbv1.IPAMPool, IPPool: pool.Name, WorkloadType: lbv1.WorkloadCluster}}
	service := &corev1.Service{ObjectMeta: w.meta("service"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: w.meta("vm"), Spec: kubevirtv1.VirtualMachineSpec{
		RunStrategy: ptr.To(kubevirtv1.RunStrategyHalted), Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{},
	}}
	for _, o := range []client.Object{lb, service, vm} {
		w.Expect(w.harvester.Create(t.Context(), o)).To(Succeed())
	}
	held := map[string]string{
		"10.77.7.13": w.name + "/service", "10.77.7.14": w.name + "/vm", "10.77.7.15": w.name + "/machine@id", "10.77.7.16": "elsewhere/web", "10.77.7.17": "web",
	}
	change(w, w.harvester, pool, func(pool *lbv1.IPPool) { maps.Copy(pool.Status.Allocated, held) })
	w.Eventually(func(g Gomega) {
		g.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(lb), lb)).To(Succeed())
		g.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(pool.Name))
	}).Should(Succeed())
	held[lb.Status.AllocatedAddress.IP] = w.name + "/lb"

	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	message := w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)
	w.Expect(message).To(And(ContainSubstring(pool.Name), ContainSubstring(lbv1.ReleaseAnnotation)))
	for address, holder := range held {
		w.Expect(message).To(ContainSubstring(address + ": " + holder))
	}
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	w.Expect(pool.Status.Allocated).To(Equal(held))
	for _, o := range []client.Object{lb, service, vm} {
		w.Expect(w.harvester.Delete(t.Context(), o)).To(Succeed())
	}
	change(w, w.harvester, pool, func(pool *lbv1.IPPool) {
		maps.DeleteFunc(pool.Status.Allocated, func(_, holder string) bool {
			return holder == w.name+"/machine@id" || !strings.HasPrefix(holder, w.name)
		})
	})
	w.waitForDeletion(cluster)
}

// Harvester allocates an address in the pool before it adds its finalizer to the LoadBalancer, so it never releases the address of a
// LoadBalancer that is deleted in between.
func TestDeleteReleasesAddressThatHarvesterAllocatedToADeletedLoadBalancer(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", fromPool(10))
	w.waitForProvisioned(cluster)
	pool := w.poolOf(cluster, owned.LoadBalancerPool)
	change(w, w.harvester, pool, func(pool *lbv1.IPPool) { pool.Status.Allocated["10.77.10.12"] = w.name + "/deleted" })
	w.remove(cluster)
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(MatchError(ContainSubstring("not found")))
}

// Earlier releases and upstream allocate an address to a machine as namespace/name, like that of a LoadBalancer.
func TestDeleteKeepsAddressInPoolOfMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.VMNetworkConfig = &infrav1.VMNetworkConfig{
			Gateway: "10.77.11.1", SubnetMask: "255.255.255.0",
			IPPool: &infrav1.IPPool{VMNetwork: "default/vlan-1", Subnet: "10.77.11.0/24", Gateway: "10.77.11.1"},
		}
	})
	w.waitForProvisioned(cluster)
	pool := w.poolOf(cluster, owned.MachinePool)
	change(w, w.harvester, pool, func(pool *lbv1.IPPool) { pool.Status.Allocated = map[string]string{"10.77.11.12": w.name + "/machine"} })
	w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	w.Expect(w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)).To(ContainSubstring("10.77.11.12: " + w.name + "/machine"))
	change(w, w.harvester, pool, func(pool *lbv1.IPPool) { pool.Status.Allocated = nil })
	w.waitForDeletion(cluster)
}

func TestPoolOfEarlierReleaseIsAdoptedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	former := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-c-vm-ippool"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{
		Subnet: "10.77.8.0/24", Gateway: "10.77.8.1",
	}}}}
	w.Expect(w.harvester.Create(t.Context(), former)).To(Succeed())
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.VMNetworkConfig = &infrav1.VMNetworkConfig{
			IPPoolRef: former.Name, Gateway: "10.77.8.1", SubnetMask: "255.255.255.0",
			IPPool: &infrav1.IPPool{VMNetwork: "default/vlan-1", Subnet: "10.77.8.0/24", Gateway: "10.77.8.1"},
		}
	})
	w.waitForProvisioned(cluster)
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(former), former)).To(Succeed())
	w.Expect(former.Labels).To(HaveKeyWithValue(infrav1.ClusterIDLabel, cluster.Annotations[infrav1.ClusterIDAnnotation]))
	w.remove(cluster)
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(former), former)).To(MatchError(ContainSubstring("not found")))
}

func TestDeleteKeepsReferencedPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.VMNetworkConfig = &infrav1.VMNetworkConfig{IPPoolRefs: []string{w.name}, Gateway: "10.77.9.1", SubnetMask: "255.255.255.0"}
	})
	w.Expect(w.waitForReason(cluster, infrav1.VMIPPoolReadyCondition, infrav1.IPPoolNotFoundReason)).To(ContainSubstring(w.name))
	w.Expect(cluster.Status.Ready).To(BeFalse())
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.77.9.0/24", Gateway: "10.77.9.1"}}}}
	w.Expect(w.harvester.Create(t.Context(), pool)).To(Succeed())
	w.waitForProvisioned(cluster)
	w.remove(cluster)
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
}
