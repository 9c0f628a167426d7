// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"hash/crc32"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	longestName = 63
	digits      = 8
)

// Name returns the name of the LoadBalancer of a Service: the names of the cluster and of the Service, truncated, and a checksum that
// also covers the Service's UID. Existing names are generated this way, so it must not change.
func Name(cluster string, service *corev1.Service) string {
	if len(validation.IsDNS1035Label(cluster)) > 0 {
		cluster = "a" + cluster
	}
	base := cluster + "-" + service.Namespace + "-" + service.Name + "-"
	sum := crc32.ChecksumIEEE([]byte(base + string(service.UID)))
	return fmt.Sprintf("%s%0*x", base[:min(len(base), longestName-digits)], digits, sum)
}
