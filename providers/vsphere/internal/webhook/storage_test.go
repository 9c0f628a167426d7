// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// storedCloneSpec sets all supported fields of disks, resources and encryption.
func storedCloneSpec() infrav1.VirtualMachineCloneSpec {
	spec := validCloneSpec()
	spec.StoragePolicyName, spec.CryptoProfile, spec.CryptoKeyID = "gold", "secret", "vault"
	spec.AdditionalDisksGiB = []int32{0, 30}
	spec.DataDisks = []infrav1.VSphereDisk{{Name: "etcd", SizeGiB: 4, ProvisioningMode: infrav1.ThinProvisioningMode}}
	spec.Resources = infrav1.VirtualMachineResources{
		Requests: infrav1.VirtualMachineResourceSpec{CPU: resource.MustParse("1G"), Memory: resource.MustParse("4Gi")},
		Limits:   infrav1.VirtualMachineResourceSpec{CPU: resource.MustParse("1G"), Memory: resource.MustParse("4Gi")},
		Shares:   infrav1.VirtualMachineResourceShares{CPU: 1000, Memory: 2000},
	}
	return spec
}

func TestValidateStorageAndResources(t *testing.T) {
	type spec = infrav1.VirtualMachineCloneSpec
	testRules(t, storedCloneSpec, validateClone, []ruleCase[spec]{
		{"all of it", func(*spec) {}, nil},
		{"disk of a negative size", func(s *spec) { s.AdditionalDisksGiB[1] = -1 }, []string{"spec.additionalDisksGiB[1]: Invalid value"}},
		{"more processor reserved than allowed", func(s *spec) { s.Resources.Requests.CPU = resource.MustParse("1000000001") }, []string{"spec.resources.requests.cpu: Invalid value"}},
		{"more memory reserved than allowed", func(s *spec) { s.Resources.Limits.Memory = resource.MustParse("1Gi") }, []string{"spec.resources.requests.memory: Invalid value"}},
		{"more memory reserved than there is", func(s *spec) { s.MemoryMiB, s.Resources.Limits.Memory = 4092, resource.Quantity{} }, []string{"spec.resources.requests.memory: Invalid value"}},
		{"more memory reserved than there is by default", func(s *spec) { s.MemoryMiB = 0 }, []string{"spec.resources.requests.memory: Invalid value"}},
		{"less reserved than there is", func(s *spec) { s.Resources.Requests.Memory = resource.MustParse("1Mi") }, nil},
		{"reserved without a limit", func(s *spec) { s.Resources.Limits = infrav1.VirtualMachineResourceSpec{} }, nil},
		{"limited without a reservation", func(s *spec) { s.Resources.Requests = infrav1.VirtualMachineResourceSpec{} }, nil},
		{"a negative reservation", func(s *spec) { s.Resources.Requests.CPU = resource.MustParse("-1G") }, []string{"spec.resources.requests.cpu: Invalid value"}},
		{"a negative limit", func(s *spec) { s.Resources.Limits.CPU = resource.MustParse("-1G") }, []string{"spec.resources.limits.cpu: Invalid value"}},
	})
}

func TestWarnStorage(t *testing.T) {
	g, path := NewWithT(t), field.NewPath("spec")
	g.Expect(warnStorage(storedCloneSpec(), path)).To(BeEmpty())
	spec := storedCloneSpec()
	spec.CloneMode = infrav1.LinkedClone
	spec.Resources.Requests.CPU, spec.Resources.Limits.CPU = resource.MustParse("500m"), resource.MustParse("2")
	g.Expect(warnStorage(spec, path)).To(ConsistOf(
		HavePrefix("spec.additionalDisksGiB: has no effect on a linked clone, which keeps the sizes of its snapshot"),
		HavePrefix("spec.resources.requests.cpu: is in hertz, and 500m is less than a megahertz"),
		HavePrefix("spec.resources.limits.cpu: is in hertz, and 2 is less than a megahertz"),
	))
}

// testStorageAdmission verifies the schema of disks, shares and modes.
func testStorageAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	type spec = infrav1.VSphereMachineSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   string
	}{
		"more disks than a machine may have": {func(s *spec) {
			for i := range 29 {
				s.DataDisks = append(s.DataDisks, infrav1.VSphereDisk{Name: fmt.Sprint(i), SizeGiB: 1})
			}
		}, "spec.dataDisks: Too many"},
		"two disks of one name":              {func(s *spec) { s.DataDisks = append(s.DataDisks, s.DataDisks[0]) }, "spec.dataDisks[1]: Duplicate value"},
		"a disk without a size":              {func(s *spec) { s.DataDisks[0].SizeGiB = 0 }, "spec.dataDisks[0].sizeGiB: Required value"},
		"a disk of a negative size":          {func(s *spec) { s.DataDisks[0].SizeGiB = -1 }, "spec.dataDisks[0].sizeGiB: Invalid value"},
		"a disk of an unknown mode":          {func(s *spec) { s.DataDisks[0].ProvisioningMode = "Sparse" }, "spec.dataDisks[0].provisioningMode: Unsupported value"},
		"negative shares":                    {func(s *spec) { s.Resources.Shares.CPU = -1 }, "spec.resources.shares.cpu: Invalid value"},
		"an unknown mode of vMotion":         {func(s *spec) { s.MigrateEncryption = "always" }, "spec.migrateEncryption: Unsupported value"},
		"an unknown mode of Fault Tolerance": {func(s *spec) { s.FtEncryptionMode = "required" }, "spec.ftEncryptionMode: Unsupported value"},
		"a rule of the webhook":              {func(s *spec) { s.Resources.Requests.CPU = resource.MustParse("2G") }, "spec.resources.requests.cpu: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			machine := &infrav1.VSphereMachine{ObjectMeta: rulestest.Named("stored"), Spec: spec{VirtualMachineCloneSpec: storedCloneSpec()}}
			machine.Spec.NumCoresPerSocket = ptr.To[int32](2)
			tc.change(&machine.Spec)
			rulestest.Rejected(NewWithT(t), api.Create(t.Context(), machine), tc.want)
		})
	}
	machine := &infrav1.VSphereMachine{ObjectMeta: rulestest.Named("stored"), Spec: spec{VirtualMachineCloneSpec: storedCloneSpec()}}
	NewWithT(t).Expect(api.Create(t.Context(), machine)).To(Succeed())
}
