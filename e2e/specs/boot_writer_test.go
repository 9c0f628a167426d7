//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/faultline-io/faultline/e2e/writer"
)

// longestGap is how long a client may be without an API server when the machine with the virtual IP address loses power. kube-vip's lease
// ends 15 seconds after its last renewal, and the others retry every 2 seconds, with a jitter of a fifth. etcd needs a second or two to
// elect a new leader if the old one is lost as well. The rest allows for a busy machine.
const longestGap = 30 * time.Second

// clusterWriter wraps a writer for specs: errors fail the spec.
type clusterWriter struct{ *writer.Writer }

// startWriter starts a writer that ends with the spec, and waits until it has written.
func startWriter(config *rest.Config) clusterWriter {
	started, err := writer.Start(background(), config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(started.Stop)
	w := clusterWriter{started}
	w.awaitWrites(10)
	return w
}

// awaitWrites waits until a number of additional writes were acknowledged.
func (w clusterWriter) awaitWrites(more int) {
	before := w.Acknowledged()
	Eventually(w.Acknowledged, "1m", writer.Every).Should(BeNumerically(">=", before+more))
}

// expectNoLostWrites stops the writer and expects every acknowledged write to exist, and no long gap between them.
func (w clusterWriter) expectNoLostWrites(ctx context.Context) {
	By("Reading back what was acknowledged")
	Expect(w.Lost(ctx)).To(BeEmpty(), "acknowledged writes that are not there")
	gap := w.LongestGap()
	AddReportEntry("acknowledged writes, none lost", strconv.Itoa(w.Acknowledged()))
	AddReportEntry("longest gap between acknowledged writes", gap.Round(10*time.Millisecond).String())
	Expect(gap).To(BeNumerically("<", longestGap))
}
