// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/manager"
)

// nodeMonitorGracePeriod is the default of kube-controller-manager's flag from Kubernetes 1.32.
const nodeMonitorGracePeriod = 50 * time.Second

// The page adds up defaults that are in the API, in the templates and in flags.
func TestDurationsOfALostRackAreDocumented(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page := content(t, "docs/operate.md")
	spec := faultlinev1.Distribution{}
	health, onBareMetal := healthCheckTimeout(t, "vsphere"), healthCheckTimeout(t, "metal3")
	g.Expect(healthCheckTimeout(t, "harvester")).To(Equal(health))
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
	for field, value := range map[string]time.Duration{
		"gracePeriodSeconds": spec.GracePeriod(), "holdPeriodSeconds": spec.HoldPeriod(), "stabilizationSeconds": spec.Stabilization(),
	} {
		g.Expect(page).To(ContainSubstring("`"+field+"` ("+seconds(value)+")"), "docs/operate.md")
	}
	g.Expect(page).To(ContainSubstring("| " + seconds(nodeMonitorGracePeriod) + " | Nodes are"))
	g.Expect(page).To(ContainSubstring("| detection + " + seconds(spec.GracePeriod()) + " | the rack is Cordoned"))
	g.Expect(page).To(ContainSubstring("| " + seconds(nodeMonitorGracePeriod+health) + ", on bare metal " + seconds(nodeMonitorGracePeriod+onBareMetal) +
		" | Cluster API starts to delete one control-plane machine | MachineHealthCheck, `timeoutSeconds` (" + seconds(health) + ", " + seconds(onBareMetal) + ") |"))
	g.Expect(page).To(ContainSubstring("so " + seconds(spec.HoldPeriod()+spec.Stabilization()) + " after the repair"))

	// The rack must be Cordoned before the control plane requests the replacement.
	const detection, detectionOnBareMetal = time.Minute, 4 * time.Minute
	g.Expect(detection + spec.GracePeriod()).To(BeNumerically("<", nodeMonitorGracePeriod+health))
	g.Expect(detectionOnBareMetal + spec.GracePeriod()).To(BeNumerically("<", nodeMonitorGracePeriod+onBareMetal))

	g.Expect(content(t, "docs/images/states.svg")).To(And(ContainSubstring("gracePeriodSeconds ("+seconds(spec.GracePeriod())+")"), ContainSubstring("holdPeriodSeconds ("+seconds(spec.HoldPeriod())+")")))

	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	(&manager.Options{}).AddFlags(flags)
	lease, err := time.ParseDuration(flags.Lookup("leader-elect-lease-duration").DefValue)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(content(t, "docs/monitoring/README.md")).To(ContainSubstring(fmt.Sprintf("it is taken over after %d seconds", int(lease.Seconds()))))
	g.Expect(content(t, "docs/images/takeover.svg")).To(ContainSubstring("wait up to " + seconds(lease)))
}

// healthCheckTimeout returns how long a Node may be not ready in the MachineHealthChecks for control planes of a provider's templates, which
// must agree.
func healthCheckTimeout(t *testing.T, provider string) time.Duration {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(repository, "templates", provider, "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for object := range strings.SplitSeq(string(text), "\n---\n") {
			if strings.Contains(object, "\nkind: MachineHealthCheck\n") && !strings.Contains(object, `cluster.x-k8s.io/control-plane: ""`) {
				continue // of workers
			}
			for _, match := range regexp.MustCompile(`\{type: Ready, status: \S+, timeoutSeconds: (?:\$\{\w+:=)?(\d+)\}?\}`).FindAllStringSubmatch(object, -1) {
				found[match[1]] = true
			}
		}
	}
	g.Expect(found).To(HaveLen(1))
	for value := range found {
		seconds, err := strconv.Atoi(value)
		g.Expect(err).NotTo(HaveOccurred())
		return time.Duration(seconds) * time.Second
	}
	return 0
}
