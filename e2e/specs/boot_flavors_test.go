//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"strings"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// holdFlavor has machines that wait for a signal before they become nodes.
const holdFlavor = "kcp-remediation"

// controlPlaneHealthCheck matches the marks that the framework's remediation spec sets on machines and nodes.
const controlPlaneHealthCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: ${CLUSTER_NAME}-marked
  namespace: ${NAMESPACE:=default}
spec:
  clusterName: ${CLUSTER_NAME}
  selector:
    matchLabels:
      cluster.x-k8s.io/control-plane: ""
      mhc-test: fail
  checks:
    nodeStartupTimeoutSeconds: 30
    unhealthyNodeConditions:
    - type: e2e.remediation.condition
      status: "False"
      timeoutSeconds: 10
`

// holdFile polls the management cluster, with a token that the framework provides.
const holdFile = `- path: /usr/local/bin/await-signal
  permissions: "0755"
  content: |
    #!/bin/bash
    url=${SERVER}/api/v1/namespaces/${NAMESPACE}/configmaps/mhc-test
    call() { curl --silent --show-error --insecure --max-time 5 --header "Authorization: Bearer ${TOKEN}" "$@"; }
    until [ "$(call $url | jq --raw-output .data.signal)" = pass ]; do sleep 1; done
    call --request PATCH --header "Content-Type: application/merge-patch+json" --data '{"data":{"signal":"ack-pass"}}' $url
`

// writeBootFlavors writes the templates for Cluster API's specs that depend on the inside of machines.
func writeBootFlavors(template string) {
	hold := strings.Join(append(without(template, "kind: MachineHealthCheck"), controlPlaneHealthCheck), separator)
	hold = appended(hold, "KubeadmControlPlane", holdFile, "spec", "kubeadmConfigSpec", "files")
	hold = appended(hold, "KubeadmControlPlane", "- await-signal", "spec", "kubeadmConfigSpec", "preKubeadmCommands")
	writeTemplate("cluster-template-"+holdFlavor+".yaml", hold)
}

// appended adds elements to a list in all objects of a kind.
func appended(template, kind, elements string, path ...string) string {
	objects := strings.Split(template, separator)
	for i, object := range objects {
		if !strings.Contains("\n"+object, "\nkind: "+kind+"\n") {
			continue
		}
		root, err := yaml.Parse(object)
		Expect(err).NotTo(HaveOccurred())
		more, err := yaml.Parse(elements)
		Expect(err).NotTo(HaveOccurred())
		Expect(root.PipeE(yaml.LookupCreate(yaml.SequenceNode, path...), yaml.Append(more.Content()...))).To(Succeed())
		out, err := root.String()
		Expect(err).NotTo(HaveOccurred())
		objects[i] = strings.TrimSuffix(out, "\n")
	}
	return strings.Join(objects, separator)
}
