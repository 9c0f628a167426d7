// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Labels.
const (
	// FailureDomainLabel on a BareMetalHost names the failure domain of the host.
	FailureDomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

	// NodeReuseLabel on a free BareMetalHost names the owner of the machine that used it last: NodeReuseControlPlanePrefix or
	// NodeReuseDeploymentPrefix followed by the owner's name. Only machines of that owner get the host.
	NodeReuseLabel = "infrastructure.cluster.x-k8s.io/node-reuse"

	// NodeReuseControlPlanePrefix precedes the name of a KubeadmControlPlane.
	NodeReuseControlPlanePrefix = "cp-"

	// NodeReuseDeploymentPrefix precedes the name of a MachineDeployment.
	NodeReuseDeploymentPrefix = "md-"

	// NodeUUIDLabel on a Node is the UID of its BareMetalHost. The Node sets it from the metaData it was booted with.
	NodeUUIDLabel = "metal3.io/uuid"

	// DataNameLabel on an address claim is the name of the Metal3Data that requires the address.
	DataNameLabel = "infrastructure.cluster.x-k8s.io/data-name"

	// PoolNameLabel on an address claim is the name of the pool.
	PoolNameLabel = "infrastructure.cluster.x-k8s.io/pool-name"
)

// Annotations.
const (
	// HostAnnotation on a Metal3Machine is namespace/name of its BareMetalHost.
	HostAnnotation = "metal3.io/BareMetalHost"

	// UnhealthyAnnotation on a BareMetalHost excludes it from the selection of hosts. Remediation sets it on a host that did not
	// recover.
	UnhealthyAnnotation = "capm3.metal3.io/unhealthy"

	// LegacyUnhealthyAnnotation on a BareMetalHost is the former spelling of UnhealthyAnnotation.
	LegacyUnhealthyAnnotation = "capi.metal3.io/unhealthy"

	// MachineFailedAnnotation on a BareMetalHost is the time at which it was released by a machine that was unhealthy or whose
	// Node never joined. For a day, machines choose such a host only if no other host is free. The annotation is removed when the
	// next machine gets the host.
	MachineFailedAnnotation = "faultline.io/machine-failed"

	// HostPausedByProvider is the value of the pause annotation on a BareMetalHost if this provider has set it. Another value
	// means that another actor has paused the host.
	HostPausedByProvider = "metal3.io/capm3"

	// LabelSyncPrefixesAnnotation on a Metal3Cluster lists, separated by commas, the label prefixes that are copied from hosts to
	// Nodes.
	LabelSyncPrefixesAnnotation = "metal3.io/metal3-label-sync-prefixes"

	// RemediationRebootAnnotationPrefix on a BareMetalHost, with the UID of a Metal3Remediation at its end, keeps the host powered off
	// during the remediation.
	RemediationRebootAnnotationPrefix = "reboot.metal3.io/metal3-remediation-"

	// NodeLabelsBackupAnnotation on a Metal3Remediation holds, as JSON, the labels of the Node that the remediation has deleted.
	NodeLabelsBackupAnnotation = "remediation.metal3.io/node-labels-backup"

	// NodeAnnotationsBackupAnnotation on a Metal3Remediation holds, as JSON, the annotations of the Node that the remediation has
	// deleted.
	NodeAnnotationsBackupAnnotation = "remediation.metal3.io/node-annotations-backup"
)

// Finalizers.
const (
	// ClusterFinalizer blocks the deletion of a Metal3Cluster until its machines are deleted.
	ClusterFinalizer = "metal3cluster.infrastructure.cluster.x-k8s.io"

	// MachineFinalizer blocks the deletion of a Metal3Machine until its host is released, and of a Metal3DataClaim while its
	// machine needs it.
	MachineFinalizer = "metal3machine.infrastructure.cluster.x-k8s.io"

	// DataTemplateFinalizer blocks the deletion of a Metal3DataTemplate while claims use it.
	DataTemplateFinalizer = "metal3datatemplate.infrastructure.cluster.x-k8s.io"

	// DataClaimFinalizer blocks the deletion of a Metal3DataClaim until its Metal3Data is deleted, and of a Metal3Data until its
	// addresses are released.
	DataClaimFinalizer = "metal3dataclaim.infrastructure.cluster.x-k8s.io"

	// DataFinalizer blocks the deletion of an address claim while a Metal3Data needs it.
	DataFinalizer = "metal3data.infrastructure.cluster.x-k8s.io"

	// RemediationFinalizer blocks the deletion of a Metal3Remediation until the host and the Node are restored.
	RemediationFinalizer = "metal3remediation.infrastructure.cluster.x-k8s.io"
)

const (
	// ProviderIDPrefix precedes namespace/host/machine in a provider ID.
	ProviderIDPrefix = "metal3://"

	// DataSecretType is the type of Secrets that hold rendered data.
	DataSecretType = "infrastructure.cluster.x-k8s.io/secret"
)
