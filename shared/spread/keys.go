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

// longestClass leaves room in a label's value, which has 63 letters, for a key's hyphen and number.
const longestClass = 63 - len("-99")

// Class is what the logical domains of a Machine are of: what its label says, else the name of its MachineDeployment in the topology,
// else the name of its MachineDeployment. A name that is too long for a key is cut off and told apart by a hash.
func Class(labels map[string]string) string {
	for _, label := range []string{
		faultlinev1.DistributionClassLabel, clusterv1.ClusterTopologyMachineDeploymentNameLabel, clusterv1.MachineDeploymentNameLabel,
	} {
		if class := labels[label]; class != "" {
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

// keys are the logical domains of a class, as domains for the planner.
func keys(class string, n int) []failuredomain.Domain {
	all := make([]failuredomain.Domain, n)
	for i := range all {
		all[i].Name = class + "-" + strconv.Itoa(i)
	}
	return all
}
