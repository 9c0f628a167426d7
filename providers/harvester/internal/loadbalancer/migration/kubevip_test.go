// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package migration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
)

func configMap(namespace string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kubevip"}, Data: data}
}

// The cases of Harvester's own load balancer define the pools and the holders of addresses.
func TestUpstreamConfigMapCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "..", "..", "shared", "upstream", "harvester", "conversion", "kubevip-upstream-case*.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Skip("../shared/upstream does not exist")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			var system *corev1.ConfigMap
			var given []migration.Given
			want := map[string]lbv1.IPPool{}
			for _, doc := range strings.Split(string(data), "\n---\n") {
				var kind metav1.TypeMeta
				g.Expect(yaml.Unmarshal([]byte(doc), &kind)).To(Succeed())
				switch kind.Kind {
				case "ConfigMap":
					config := &corev1.ConfigMap{}
					g.Expect(yaml.Unmarshal([]byte(doc), config)).To(Succeed())
					if config.Namespace == "kube-system" {
						system = config
					}
					if config.Name == "kubevip" {
						more, complaints := migration.GivenIn(config)
						g.Expect(complaints).To(BeEmpty())
						given = append(given, more...)
					}
				case "IPPool":
					pool := lbv1.IPPool{}
					g.Expect(yaml.Unmarshal([]byte(doc), &pool)).To(Succeed())
					want[pool.Name] = pool
				}
			}
			pools, complaints := migration.Pools(system)
			g.Expect(complaints).To(BeEmpty())
			migration.Fill(pools, given, func(migration.Given) bool { return false })
			g.Expect(pools).To(HaveLen(len(want)))
			for _, pool := range pools {
				g.Expect(pool.Spec).To(Equal(want[pool.Name].Spec))
				g.Expect(pool.Status.AllocatedHistory).To(Equal(want[pool.Name].Status.AllocatedHistory))
			}
		})
	}
}

func TestInvalidConfigMapEntriesAreReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pools, complaints := migration.Pools(configMap("kube-system", map[string]string{
		"search-order": "desc", "skip-end-ips-in-cidr": "true", "cidr-": "10.0.0.0/24", "nonsense": "x", "cidr-bad": "10.0.0.0",
		"range-half": "10.1.0.1-10.1.0.5, 10.1.0.9", "cidr-good": "10.2.0.7/24", "range-good": "10.3.0.16-10.3.0.31",
		"range-one": "10.4.0.5-10.4.0.5", "cidr-six": "fd00::/64", "range-six": "fd01::1-fd01::ff",
		"cidr-global": "10.2.0.0/16,10.5.0.0/24",
	}))
	ranges := map[string][]lbv1.Range{}
	for _, pool := range pools {
		ranges[pool.Name] = pool.Spec.Ranges
		g.Expect(ippools.Validate(pool.Spec)).To(BeEmpty())
		for _, other := range pools {
			g.Expect(ippools.ValidateAmong(pool, []lbv1.IPPool{*other})).To(BeEmpty())
		}
	}
	g.Expect(ranges).To(Equal(map[string][]lbv1.Range{
		"half": {{RangeStart: "10.1.0.1", RangeEnd: "10.1.0.5", Subnet: "10.1.0.0/29"}},
		"good": {{Subnet: "10.2.0.0/24"}, {RangeStart: "10.3.0.16", RangeEnd: "10.3.0.31", Subnet: "10.3.0.0/26"}},
		"one":  {{Subnet: "10.4.0.5/32"}}, "global": {{Subnet: "10.5.0.0/24"}},
		"six": {{Subnet: "fd00::/64"}, {RangeStart: "fd01::1", RangeEnd: "fd01::ff", Subnet: "fd01::/120"}},
	}))
	var keys []string
	for _, c := range complaints {
		keys = append(keys, c.Key)
	}
	g.Expect(keys).To(ConsistOf("cidr-", "nonsense", "cidr-bad", "range-half", "*-global"))

	_, complaints = migration.GivenIn(configMap("default", map[string]string{"kubevip-services": "{"}))
	g.Expect(complaints).To(HaveLen(1))
	given, complaints := migration.GivenIn(configMap("default", map[string]string{
		"kubevip-services": `{"services":[{"vip":"0.0.0.0"},{"vip":"x","serviceName":"a"},{"vip":"10.0.0.9","serviceName":"b"}]}`,
	}))
	g.Expect(given).To(HaveLen(1))
	g.Expect(complaints).To(HaveLen(1))
}
