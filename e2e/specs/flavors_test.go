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
	folder := filepath.Join(repositoryFolder(), config.GetProviderVersions(*provider)[0])
	template, err := os.ReadFile(filepath.Join(folder, "cluster-template.yaml"))
	Expect(err).NotTo(HaveOccurred())
	// The control plane of one machine that the spec has could not be remediated.
	remediation := append(without(string(template), "kind: MachineHealthCheck"), workerHealthCheck)
	Expect(os.WriteFile(filepath.Join(folder, "cluster-template-md-remediation.yaml"), []byte(strings.Join(remediation, separator)), 0o600)).To(Succeed())
}

// repositoryFolder is where clusterctl finds the provider's versions.
func repositoryFolder() string {
	return filepath.Join(filepath.Dir(environment.ClusterctlConfig()), "infrastructure-"+*provider)
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
