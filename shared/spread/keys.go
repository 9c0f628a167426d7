// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"hash/fnv"
	"strconv"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// longestClass is the maximum length of a class: a label value of 63 characters must also hold a key's hyphen and number.
const longestClass = 63 - len("-99")

// Class returns the class of a Machine's logical domains: the value of its distribution-class label, otherwise the name of its
// MachineDeployment in the topology, otherwise the name of its MachineDeployment. A name that is too long for a key is truncated
// and made unique by a hash.
func Class(labels map[string]string) string {
	for _, label := range []string{
		faultlinev1.DistributionClassLabel, clusterv1.ClusterTopologyMachineDeploymentNameLabel, clusterv1.MachineDeploymentNameLabel,
	} {
		if class := faultlinev1.Value(labels, label); class != "" {
			return shortened(class)
		}
	}
	return ""
}

func shortened(class string) string {
	if len(class) <= longestClass {
		return class
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(class))
	return fmt.Sprintf("%s-%08x", class[:longestClass-9], hash.Sum32())
}

// keys returns the logical domains of a class in the form of the planner.
func keys(class string, n int) []failuredomain.Domain {
	all := make([]failuredomain.Domain, n)
	for i := range all {
		all[i].Name = class + "-" + strconv.Itoa(i)
	}
	return all
}
