// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/shared/rules"
)

// validateVersion is a rule. Its errors name the field and how to fix it.
func validateVersion(machine *clusterv1.Machine) field.ErrorList {
	if machine.Spec.Version != "" {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("spec", "version"), "set the Kubernetes version of the machine")}
}

// An object with errors is not created, but one that was created before the rule existed can still be updated.
func ExampleWebhooks() {
	webhooks := rules.Webhooks[*clusterv1.Machine]{Validate: validateVersion}
	machine := &clusterv1.Machine{}
	machine.Name = "my-machine"

	_, err := webhooks.ValidateCreate(context.Background(), machine)
	fmt.Println(err)

	labelled := machine.DeepCopy()
	labelled.Labels = map[string]string{"team": "storage"}
	_, err = webhooks.ValidateUpdate(context.Background(), machine, labelled)
	fmt.Println(err)
	// Output:
	//  "my-machine" is invalid: spec.version: Required value: set the Kubernetes version of the machine
	// <nil>
}

// Only the failure domain may change; every other field is listed in the error.
func ExampleChanged() {
	before := clusterv1.MachineSpec{ClusterName: "my-cluster", Version: "v1.35.0", FailureDomain: "rack-1"}
	after := clusterv1.MachineSpec{ClusterName: "my-cluster", Version: "v1.36.0", FailureDomain: "rack-2"}
	for _, err := range rules.Changed(&before, &after, field.NewPath("spec"), "delete the machine to replace it", "failureDomain") {
		fmt.Println(err)
	}
	// Output:
	// spec.version: Forbidden: may not be changed; delete the machine to replace it
}
