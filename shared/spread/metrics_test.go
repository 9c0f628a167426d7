// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// skew checks the exported skew of md; "" means that none is exported.
func (w *fixture) skew(value string) {
	w.t.Helper()
	want := ""
	if value != "" {
		want = fmt.Sprintf(`
# HELP faultline_failure_domain_worker_skew Difference between the highest and the lowest number of machines of a MachineDeployment in the failure domains that receive them.
# TYPE faultline_failure_domain_worker_skew gauge
faultline_failure_domain_worker_skew{cluster="one",machine_deployment="md",namespace=%q} %s
`, w.name, value)
	}
	w.Expect(testutil.GatherAndCompare(w.registry, strings.NewReader(want), "faultline_failure_domain_worker_skew")).To(Succeed())
}

func TestWorkerSkewMetric(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.domains("a b c!Cordoned")
	w.scale("md", 5)
	r := w.reconciler(api)
	w.reconcile(r)
	w.exist()
	w.reconcile(r)
	w.skew("1")
	w.domains("a b c")
	w.reconcile(r)
	w.skew("3")
	w.next(r, "md-next")
	w.skew("1")
	w.remove(&clusterv1.Machine{ObjectMeta: w.meta("md-next")})
	w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.DesiredFailureDomains = ptr.To[int32](2) })
	w.reconcile(r)
	w.skew("1")
	change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, func(md *clusterv1.MachineDeployment) {
		metav1.SetMetaDataAnnotation(&md.ObjectMeta, faultlinev1.ScaledByAnnotation, "rancher")
	})
	w.reconcile(r)
	w.skew("")
}
