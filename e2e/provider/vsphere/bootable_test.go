// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider"
)

const template = `# Left as it is.
apiVersion: v1
kind: Secret
stringData: {password: "${PASSWORD}"}
---
kind: VSphereMachineTemplate
metadata:
  name: ${CLUSTER_NAME}
spec:
  template:
    spec:
      server: "${SERVER:=# none}" # as given
      numCPUs: ${CPUS:=2}
      customVMXKeys: {own: kept}
---
kind: ClusterResourceSet
metadata: {name: ${CLUSTER_NAME}-cloud-provider}
---
kind: ClusterClass
metadata:
  name: class
spec:
  workers:
    machineDeployments:
    - class: worker
    - class: storage
  patches:
  - name: machines
`

func TestBootable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	out, err := bootable([]byte(template), map[string]string{"RUN.container": `["a"]`})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(Equal(`# Left as it is.
apiVersion: v1
kind: Secret
stringData: {password: "${PASSWORD}"}
---
kind: VSphereMachineTemplate
metadata:
  name: ${CLUSTER_NAME}
spec:
  template:
    spec:
      server: "${SERVER:=# none}" # as given
      numCPUs: ${CPUS:=2}
      customVMXKeys: {own: kept, RUN.container: "[\"a\"]"}
---
kind: ClusterClass
metadata:
  name: class
spec:
  workers:
    machineDeployments:
    - class: worker
    - class: storage
  patches:
  - name: machines
  - definitions:
    - jsonPatches:
      - op: add
        path: /spec/template/spec/customVMXKeys
        value:
          RUN.container: '["a"]'
      selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: VSphereMachineTemplate
        matchResources:
          controlPlane: true
          machineDeploymentClass:
            names:
            - worker
            - storage
    name: containers
`))
}

// Every shipped template can be adapted for booting.
func TestShippedTemplatesAreBootable(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../../templates/vsphere/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		g := NewWithT(t)
		shipped, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		out, err := bootable(shipped, map[string]string{"RUN.container": "[]"})
		g.Expect(err).NotTo(HaveOccurred(), path)
		g.Expect(string(out)).NotTo(ContainSubstring("\nkind: ClusterResourceSet"))
		if strings.Contains(string(shipped), "kind: VSphereMachineTemplate") {
			g.Expect(string(out)).To(ContainSubstring("RUN.container"))
		}
	}
}

// The simulator runs its arguments in a shell, unquoted.
func TestMachineKeysAreShellSafe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	keys, err := machineKeys(provider.Kind{
		Label: "io.faultline.environment=x", Network: "kind", Machine: "faultline/machine:v1",
		Variables: map[string]string{"VSPHERE_SERVER": "172.18.0.3:8989"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	var words []string
	g.Expect(json.Unmarshal([]byte(keys["RUN.container"]), &words)).To(Succeed())
	for _, word := range words {
		g.Expect(word).NotTo(ContainSubstring(" "))
		g.Expect(strings.ContainsAny(word, "$`\"'\\;&|<>()*?[]{}~#!")).To(BeFalse(), word)
	}
	g.Expect(words[len(words)-1]).To(Equal("faultline/machine:v1"))
}
