// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// AssignedFailureDomainAnnotation on an infrastructure machine names the failure domain that it was assigned, because its
// Machine names none. The machine is put there, or waits, as if Machine.spec.failureDomain named it.
const AssignedFailureDomainAnnotation = "infrastructure.cluster.x-k8s.io/assigned-failure-domain"
