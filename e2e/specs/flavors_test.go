//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/gomega"
)

const separator = "\n---\n"

// workerHealthCheck has the condition that the framework's remediation spec sets on a node.
const workerHealthCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: ${CLUSTER_NAME}-md-a
  namespace: ${NAMESPACE:=default}
spec:
  clusterName: ${CLUSTER_NAME}
  selector:
    matchLabels:
      cluster.x-k8s.io/deployment-name: ${CLUSTER_NAME}-md-a
  checks:
    unhealthyNodeConditions:
    - type: e2e.remediation.condition
      status: "False"
      timeoutSeconds: 5
`

// writeFlavors puts variants of the cluster template into clusterctl's repository that only specs need.
func writeFlavors() {
	version := config.GetProviderVersions("vsphere")[0]
	folder := filepath.Join(filepath.Dir(environment.ClusterctlConfig()), "infrastructure-vsphere", version)
	template, err := os.ReadFile(filepath.Join(folder, "cluster-template.yaml"))
	Expect(err).NotTo(HaveOccurred())
	// The control plane of one machine that the spec has could not be remediated.
	remediation := append(without(string(template), "kind: MachineHealthCheck"), workerHealthCheck)
	Expect(os.WriteFile(filepath.Join(folder, "cluster-template-md-remediation.yaml"), []byte(strings.Join(remediation, separator)), 0o600)).To(Succeed())
}

// without leaves out the objects that hold a line.
func without(template, line string) []string {
	var kept []string
	for _, object := range strings.Split(template, separator) {
		if !strings.Contains(object, line) {
			kept = append(kept, object)
		}
	}
	return kept
}
