// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"strings"
	"testing"
)

func TestVMName(t *testing.T) {
	long := strings.Repeat("a", 60)
	for _, tc := range []struct {
		name, template, machine, want string
	}{
		{"without a template it is the machine's name", "", "cp-abc12", "cp-abc12"},
		{"a name without template is not cut", "", strings.Repeat("a", 70), strings.Repeat("a", 70)},
		{"the machine's name is given", "vm-{{ .machine.name }}", "cp-abc12", "vm-cp-abc12"},
		{"trimSuffix takes the string last", `{{ .machine.name | trimSuffix "-abc12" }}`, "cp-abc12", "cp"},
		{"trunc keeps the first", "{{ .machine.name | trunc 2 }}", "cp-abc12", "cp"},
		{"trunc keeps the last", "x{{ trunc -5 .machine.name }}", "cp-abc12", "xabc12"},
		{"trunc longer than the name keeps it", "{{ trunc 50 .machine.name }}{{ trunc -50 .machine.name }}", "cp", "cpcp"},
		{"the outcome is cut at 63", "prefix-{{ .machine.name }}", long, "prefix-" + long[:56]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := VSphereVMNamingSpec{Template: tc.template}.VMName(tc.machine)
			if err != nil || got != tc.want {
				t.Errorf("the name is %q and the error %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestVMNameRefusesBadTemplates(t *testing.T) {
	for _, template := range []string{"{{ .machine.name", "{{ .machine.role }}", "{{ .cluster.name }}", "{{ upper .machine.name }}"} {
		t.Run(template, func(t *testing.T) {
			_, err := VSphereVMNamingSpec{Template: template}.VMName("cp-abc12")
			if err == nil || !strings.Contains(err.Error(), "naming template") {
				t.Errorf("the error is %v, want one about the naming template", err)
			}
		})
	}
}

func TestWindowsVMName(t *testing.T) {
	for _, tc := range []struct{ what, machine, name, want string }{
		{"a name that fits", "worker-12345678", "worker-12345678", "worker-12345678"},
		{"beginning and end of a long one", "cluster-md-0-abcde-xyz12", "cluster-md-0-abcde-xyz12", "cluster-m-xyz12"},
		{"no hyphen twice", "my-pools-windows-xyz12", "my-pools-windows-xyz12", "my-pools-xyz12"},
		{"a long one of a template", "worker-1", "windows-worker-1-x", "windows-w-r-1-x"},
		{"one that upstream would cut", "cluster-md-0-abcde-xyz12", "win-cluster", "win-clust-uster"},
		{"one that is too short to cut", "cluster-md-0-abcde-xyz12", "win", "win"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			got := WindowsVMName(tc.machine, tc.name)
			if got != tc.want || len(got) > MaxWindowsNameLength {
				t.Errorf("the name is %q, want %q of at most %d characters", got, tc.want, MaxWindowsNameLength)
			}
		})
	}
}
