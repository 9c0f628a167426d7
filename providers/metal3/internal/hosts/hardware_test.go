// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"strconv"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

// equipped returns a change that gives a host its hardware.
func equipped(arch string, cpus, memoryGiB int, disksGiB ...int) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) {
		host.Labels["size"] = "s"
		host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{CPU: bmov1alpha1.CPU{Arch: arch, Count: cpus}, RAMMebibytes: memoryGiB << 10}
		for _, size := range disksGiB {
			host.Status.HardwareDetails.Storage = append(host.Status.HardwareDetails.Storage, bmov1alpha1.Storage{SizeBytes: bmov1alpha1.Capacity(size) << 30})
		}
	}
}

func TestLeastHardwareOfMatchingHosts(t *testing.T) {
	t.Parallel()
	large := equipped("x86_64", 64, 256, 480)
	for name, tc := range map[string]struct {
		hosts []*bmov1alpha1.BareMetalHost
		want  *hosts.Hardware
	}{
		"no hosts":                    {},
		"none is inspected":           {hosts: []*bmov1alpha1.BareMetalHost{bmh()}},
		"one":                         {[]*bmov1alpha1.BareMetalHost{bmh(large)}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
		"the least of each resource":  {[]*bmov1alpha1.BareMetalHost{bmh(equipped("aarch64", 8, 64, 100)), bmh(equipped("aarch64", 16, 32, 50))}, &hosts.Hardware{CPUs: 8, MemoryMiB: 32 << 10, Disk: 50 << 30, Architecture: "arm64"}},
		"two architectures":           {[]*bmov1alpha1.BareMetalHost{bmh(large), bmh(equipped("aarch64", 64, 256, 480))}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30}},
		"an unknown architecture":     {[]*bmov1alpha1.BareMetalHost{bmh(equipped("riscv64", 1, 1))}, &hosts.Hardware{CPUs: 1, MemoryMiB: 1 << 10}},
		"the smallest disk":           {[]*bmov1alpha1.BareMetalHost{bmh(equipped("x86_64", 1, 1, 480, 3, 4, 16))}, &hosts.Hardware{CPUs: 1, MemoryMiB: 1 << 10, Disk: 4 << 30, Architecture: "amd64"}},
		"a disk of one is not known":  {[]*bmov1alpha1.BareMetalHost{bmh(large), bmh(equipped("x86_64", 64, 256))}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Architecture: "amd64"}},
		"hosts in use and in error":   {[]*bmov1alpha1.BareMetalHost{bmh(large, inState(bmov1alpha1.StateProvisioned)), bmh(equipped("x86_64", 32, 256, 480), inError)}, &hosts.Hardware{CPUs: 32, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
		"hosts that no machine uses":  {[]*bmov1alpha1.BareMetalHost{bmh(large), bmh(equipped("x86_64", 1, 1), inState(bmov1alpha1.StateUnmanaged)), bmh(equipped("x86_64", 1, 1), externally)}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
		"others are not inspected":    {[]*bmov1alpha1.BareMetalHost{bmh(large), bmh(equipped("x86_64", 0, 0))}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
		"hosts of another label":      {[]*bmov1alpha1.BareMetalHost{bmh(large), bmh(equipped("x86_64", 1, 1), unlabelled)}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
		"hosts of another namespace":  {[]*bmov1alpha1.BareMetalHost{bmh(large), bmh(equipped("x86_64", 1, 1), elsewhere)}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
		"a host that is being erased": {[]*bmov1alpha1.BareMetalHost{bmh(large, inState(bmov1alpha1.StateDeprovisioning))}, &hosts.Hardware{CPUs: 64, MemoryMiB: 256 << 10, Disk: 480 << 30, Architecture: "amd64"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(bmov1alpha1.AddToScheme(scheme)).To(Succeed())
			c := fake.NewClientBuilder().WithScheme(scheme)
			for i, host := range tc.hosts {
				host.Name += strconv.Itoa(i)
				c = c.WithObjects(host)
			}
			got, err := hosts.LeastHardware(t.Context(), c.Build(), "ns", labels.SelectorFromSet(labels.Set{"size": "s"}))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func inError(host *bmov1alpha1.BareMetalHost)    { host.Status.ErrorMessage = "broken" }
func externally(host *bmov1alpha1.BareMetalHost) { host.Spec.ExternallyProvisioned = true }
func unlabelled(host *bmov1alpha1.BareMetalHost) { host.Labels["size"] = "l" }
func elsewhere(host *bmov1alpha1.BareMetalHost)  { host.Namespace = "other" }

func TestOnlyChangesOfHardwareAndLabelsMatter(t *testing.T) {
	t.Parallel()
	before := bmh(equipped("x86_64", 8, 64, 100))
	for name, tc := range map[string]struct {
		change func(*bmov1alpha1.BareMetalHost)
		want   bool
	}{
		"provisioned": {change: inState(bmov1alpha1.StateProvisioned)},
		"in error":    {change: inError},
		"more memory": {equipped("x86_64", 8, 128, 100), true},
		"relabelled":  {unlabelled, true},
		"external":    {externally, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			after := before.DeepCopy()
			tc.change(after)
			g.Expect(hosts.HardwareChanged(before, after)).To(Equal(tc.want))
			g.Expect(hosts.HardwareChanged(after, before)).To(Equal(tc.want))
		})
	}
}
