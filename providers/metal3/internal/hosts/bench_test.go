// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

// BenchmarkAsk measures one choice among n free hosts in five domains. The time must not grow with n.
func BenchmarkAsk(b *testing.B) {
	for _, n := range []int{200, 1000, 10000} {
		for _, domain := range []string{"rack-1", ""} {
			b.Run(fmt.Sprintf("%d hosts/domain=%q", n, domain), func(b *testing.B) {
				inventory := hosts.NewInventory(func(types.NamespacedName) {})
				for i := range n {
					inventory.Upsert(in(fmt.Sprintf("rack-%d", i%5), fmt.Sprintf("host-%05d", i)))
				}
				var took []time.Duration
				for b.Loop() {
					began := time.Now()
					inventory.Reserve(wants("machine", domain))
					took = append(took, time.Since(began))
					inventory.Forget(machine("machine"))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns/choice")
			})
		}
	}
}
