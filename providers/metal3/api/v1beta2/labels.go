// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Labels.
const (
	// FailureDomainLabel on a BareMetalHost names the failure domain that the
	// host is in.
	FailureDomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

	// NodeReuseLabel on a free BareMetalHost names the owner of the machine
	// that had it last: NodeReuseControlPlanePrefix or
	// NodeReuseDeploymentPrefix and the owner's name. Only machines of that
	// owner get the host.
	NodeReuseLabel = "infrastructure.cluster.x-k8s.io/node-reuse"

	// NodeReuseControlPlanePrefix is before the name of a KubeadmControlPlane.
	NodeReuseControlPlanePrefix = "cp-"

	// NodeReuseDeploymentPrefix is before the name of a MachineDeployment.
	NodeReuseDeploymentPrefix = "md-"

	// NodeUUIDLabel on a Node is the UID of its BareMetalHost. The Node brings
	// it along from the metaData it was booted with.
	NodeUUIDLabel = "metal3.io/uuid"

	// DataNameLabel on a claim for an address is the name of the Metal3Data
	// that needs it.
	DataNameLabel = "infrastructure.cluster.x-k8s.io/data-name"

	// PoolNameLabel on a claim for an address is the name of the pool.
	PoolNameLabel = "infrastructure.cluster.x-k8s.io/pool-name"
)

// Annotations.
const (
	// HostAnnotation on a Metal3Machine is namespace/name of its BareMetalHost.
	HostAnnotation = "metal3.io/BareMetalHost"

	// UnhealthyAnnotation on a BareMetalHost keeps machines off it. Remediation
	// sets it on a host that did not come back.
	UnhealthyAnnotation = "capm3.metal3.io/unhealthy"

	// LegacyUnhealthyAnnotation is UnhealthyAnnotation as it was once spelled.
	LegacyUnhealthyAnnotation = "capi.metal3.io/unhealthy"

	// MachineFailedAnnotation on a BareMetalHost is the time at which a machine
	// gave it up that did not become a Node on it, or was unhealthy. For a day
	// machines take such a host only when there is no other. It goes when the
	// next machine gets the host.
	MachineFailedAnnotation = "infrastructure.cluster.x-k8s.io/machine-failed"

	// HostPausedByProvider is the value of the annotation that pauses a
	// BareMetalHost when this provider has set it; one with another value is
	// somebody else's.
	HostPausedByProvider = "metal3.io/capm3"

	// LabelSyncPrefixesAnnotation on a Metal3Cluster lists, separated by
	// commas, the prefixes of the labels that are copied from hosts to Nodes.
	LabelSyncPrefixesAnnotation = "metal3.io/metal3-label-sync-prefixes"

	// RemediationRebootAnnotationPrefix, and the UID of a Metal3Remediation,
	// is the annotation on a BareMetalHost that keeps it powered off meanwhile.
	RemediationRebootAnnotationPrefix = "reboot.metal3.io/metal3-remediation-"

	// NodeLabelsBackupAnnotation on a Metal3Remediation holds, as JSON, the
	// labels of a Node that it has deleted.
	NodeLabelsBackupAnnotation = "remediation.metal3.io/node-labels-backup"

	// NodeAnnotationsBackupAnnotation on a Metal3Remediation holds, as JSON,
	// the annotations of a Node that it has deleted.
	NodeAnnotationsBackupAnnotation = "remediation.metal3.io/node-annotations-backup"
)

// Finalizers.
const (
	// ClusterFinalizer keeps a Metal3Cluster until its machines are gone.
	ClusterFinalizer = "metal3cluster.infrastructure.cluster.x-k8s.io"

	// MachineFinalizer keeps a Metal3Machine until its host is released, and a
	// Metal3DataClaim as long as its machine needs it.
	MachineFinalizer = "metal3machine.infrastructure.cluster.x-k8s.io"

	// DataTemplateFinalizer keeps a Metal3DataTemplate while claims use it.
	DataTemplateFinalizer = "metal3datatemplate.infrastructure.cluster.x-k8s.io"

	// DataClaimFinalizer keeps a Metal3DataClaim until its Metal3Data is gone,
	// and a Metal3Data until its addresses are released.
	DataClaimFinalizer = "metal3dataclaim.infrastructure.cluster.x-k8s.io"

	// DataFinalizer keeps a claim for an address as long as a Metal3Data needs
	// it.
	DataFinalizer = "metal3data.infrastructure.cluster.x-k8s.io"

	// RemediationFinalizer keeps a Metal3Remediation until host and Node are
	// back as they were.
	RemediationFinalizer = "metal3remediation.infrastructure.cluster.x-k8s.io"
)

const (
	// ProviderIDPrefix is before namespace/host/machine in a provider ID.
	ProviderIDPrefix = "metal3://"

	// DataSecretType is the type of Secrets with rendered data.
	DataSecretType = "infrastructure.cluster.x-k8s.io/secret"
)
