// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// HarvesterClusterSpec is which Harvester a cluster is on, how its API server is
// reached and which failure domains its machines are put in.
type HarvesterClusterSpec struct {
	// server is the URL of Harvester's API server. It is set by the controller,
	// from the kubeconfig.
	// +optional
	Server string `json:"server,omitempty"`

	// identitySecret names the Secret with the kubeconfig of Harvester, in its
	// key kubeconfig.
	// +required
	IdentitySecret SecretKey `json:"identitySecret,omitempty,omitzero"`

	// loadBalancerConfig is the load balancer that Harvester makes for the
	// control-plane endpoint. Without it controlPlaneEndpoint is given, by the
	// user or for kube-vip in the guests.
	// +optional
	LoadBalancerConfig LoadBalancerConfig `json:"loadBalancerConfig,omitempty,omitzero"`

	// controlPlaneEndpoint is where the cluster's API server is reached. It is
	// set from the load balancer when there is one, and does not change then.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// targetNamespace is the namespace on Harvester that virtual machines, their
	// volumes and the load balancer are made in.
	// +required
	TargetNamespace string `json:"targetNamespace"`

	// updateCloudProviderConfig names the manifests of Harvester's cloud
	// provider into which a kubeconfig is written that is made for it.
	// +optional
	UpdateCloudProviderConfig UpdateCloudProviderConfig `json:"updateCloudProviderConfig,omitempty,omitzero"`

	// vmNetworkConfig gives machines addresses from pools. Without it they use
	// DHCP.
	// +optional
	VMNetworkConfig *VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// failureDomains that machines may be put in. A domain is the hosts of
	// Harvester that have its value in the label that it names. Without any the
	// domains are the values of the label failureDomainTopologyKey.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []HarvesterFailureDomain `json:"failureDomains,omitempty"`

	// failureDomainTopologyKey is the label of hosts by which failure domains
	// are found when failureDomains lists none: each of its values is the name
	// of one. Hosts without it are in none. Defaults to
	// topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	FailureDomainTopologyKey string `json:"failureDomainTopologyKey,omitempty"`

	// distribution is how machines are spread over the failure domains, and
	// what single failure domains may be used for.
	// +optional
	Distribution faultlinev1.Distribution `json:"distribution,omitempty,omitzero"`
}

// SecretKey names a Secret.
type SecretKey struct {
	// namespace of the Secret.
	// +required
	Namespace string `json:"namespace"`

	// name of the Secret.
	// +required
	Name string `json:"name"`
}

// APIEndpoint is where an API server is reached.
type APIEndpoint struct {
	// host name or address.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port number. Defaults to 6443.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// IsSet reports whether the endpoint is known. An unspecified address, such as
// 0.0.0.0, stands in templates for one that is not.
func (e APIEndpoint) IsSet() bool {
	ip := net.ParseIP(e.Host)
	return e.Host != "" && (ip == nil || !ip.IsUnspecified())
}

// String returns host:port.
func (e APIEndpoint) String() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// HarvesterFailureDomain is a failure domain, and what is special about the
// machines in it.
type HarvesterFailureDomain struct {
	// name of the domain, by which Machines refer to it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// controlPlane tells whether machines of the control plane may be put in the
	// domain. Defaults to true.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// topologyKey is the label that hosts of the domain have. Defaults to
	// topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey,omitempty"`

	// topologyValue is the value of the label. Defaults to the domain's name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	TopologyValue string `json:"topologyValue,omitempty"`

	// networks that machines in the domain are attached to, in the place of
	// those of the machine, as namespace/name or name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Networks []string `json:"networks,omitempty"`

	// vmNetworkConfig gives machines in the domain addresses from pools of its
	// own. It goes before that of the cluster; that of a machine goes before it.
	// +optional
	VMNetworkConfig *VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// storageClass of volumes of machines in the domain that are not filled
	// from an image, in the place of that of the machine.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClass string `json:"storageClass,omitempty"`
}

// ForControlPlane reports whether machines of the control plane may be put in
// the domain.
func (d *HarvesterFailureDomain) ForControlPlane() bool {
	return d.ControlPlane == nil || *d.ControlPlane
}

// Topology returns the label that hosts of the domain have, and its value.
func (d *HarvesterFailureDomain) Topology() (key, value string) {
	key, value = d.TopologyKey, d.TopologyValue
	if key == "" {
		key = corev1.LabelTopologyZone
	}
	if value == "" {
		value = d.Name
	}
	return key, value
}

// DiscoveryKey returns the label of hosts whose values are failure domains when
// none is listed.
func (s *HarvesterClusterSpec) DiscoveryKey() string {
	if s.FailureDomainTopologyKey == "" {
		return corev1.LabelTopologyZone
	}
	return s.FailureDomainTopologyKey
}

// UpdateCloudProviderConfig names manifests of Harvester's cloud provider, in a
// ConfigMap, or a Secret of type addons.cluster.x-k8s.io/resource-set, that a
// ClusterResourceSet brings to the cluster, and the Secret in them that a
// kubeconfig is written to.
type UpdateCloudProviderConfig struct {
	// manifestsConfigMapNamespace is the namespace of the ConfigMap or Secret. It is
	// that of the cluster, unless the administrator allows another.
	// +required
	ManifestsConfigMapNamespace string `json:"manifestsConfigMapNamespace"`

	// manifestsConfigMapName is the name of the ConfigMap or Secret.
	// +required
	ManifestsConfigMapName string `json:"manifestsConfigMapName"`

	// manifestsConfigMapKey is the key of the manifests in it.
	// +required
	ManifestsConfigMapKey string `json:"manifestsConfigMapKey"`

	// cloudConfigCredentialsSecretName is the name of the Secret among the
	// manifests.
	// +required
	CloudConfigCredentialsSecretName string `json:"cloudConfigCredentialsSecretName"`

	// cloudConfigCredentialsSecretKey is the key of the kubeconfig in the
	// Secret.
	// +required
	CloudConfigCredentialsSecretKey string `json:"cloudConfigCredentialsSecretKey"`
}

// HarvesterClusterStatus is what was found of the cluster's infrastructure.
type HarvesterClusterStatus struct {
	// ready is true once machines may be created. It is the same as
	// initialization.provisioned, for those who read it from older versions.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// conditions of the cluster: Ready, HarvesterConnectionReady,
	// TargetNamespaceReady, LoadBalancerReady, CustomIPPoolCreated,
	// VMIPPoolReady, VMIPPoolCreatedByController, CloudProviderConfigReady,
	// FailureDomainsReady, InfrastructureReady and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is how far the first provisioning is.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// failureDomains that machines may be put in, sorted by name. Cluster API
	// copies them to the Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// distribution is what is known about the failure domains and about the
	// machines in them.
	// +optional
	Distribution faultlinev1.DistributionStatus `json:"distribution,omitempty,omitzero"`

	// workloadClusterUID is the UID of the namespace kube-system of the
	// workload cluster, once that has been reached. When the cluster is
	// deleted, the load balancers of Services in targetNamespace that have it
	// in their annotation cloudprovider.harvesterhci.io/cluster-uid go, too.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	WorkloadClusterUID string `json:"workloadClusterUID,omitempty"`

	// id is the id of the cluster, which what is made for it on Harvester has in
	// its labels. It is the same as in the annotation
	// infrastructure.cluster.x-k8s.io/harvester-cluster-id, which is restored
	// from here if something removes it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id,omitempty"`

	// deprecated holds status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// Initialization is how far the first provisioning is.
type Initialization struct {
	// provisioned is true once a HarvesterCluster can have machines, or a
	// HarvesterMachine runs and has its provider ID. It is part of the Cluster
	// API contract and stays true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// HarvesterCluster is the infrastructure of a Cluster on Harvester.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvesterclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether machines may be created"
// +kubebuilder:printcolumn:name="Server",type="string",JSONPath=".spec.server",description="Harvester's API server"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Where the API server is reached"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type HarvesterCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is which Harvester the cluster is on, how its API server is reached
	// and which failure domains its machines are put in.
	// +required
	Spec HarvesterClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what was found of the cluster's infrastructure.
	// +optional
	Status HarvesterClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the cluster.
func (c *HarvesterCluster) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the conditions of the cluster.
func (c *HarvesterCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// ID returns what the cluster is known by on Harvester; "" as long as nothing may
// be made there.
func (c *HarvesterCluster) ID() string {
	if id := c.Annotations[ClusterIDAnnotation]; id != "" {
		return id
	}
	return c.Status.ID
}

// Distribution points to what is wanted and what is known of the failure domains.
func (c *HarvesterCluster) Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus) {
	return &c.Spec.Distribution, &c.Status.Distribution
}

// FailureDomains points to the failure domains that Cluster API sees.
func (c *HarvesterCluster) FailureDomains() *[]clusterv1.FailureDomain {
	return &c.Status.FailureDomains
}

// HarvesterClusterList is a list of HarvesterClusters.
//
// +kubebuilder:object:root=true
type HarvesterClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterCluster `json:"items"`
}
