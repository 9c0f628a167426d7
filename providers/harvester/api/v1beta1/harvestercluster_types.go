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

// HarvesterClusterSpec defines the Harvester that a cluster runs on, how its
// API server is reached and the failure domains of its machines.
type HarvesterClusterSpec struct {
	// server is the URL of Harvester's API server. The controller sets it
	// from the kubeconfig.
	// +optional
	Server string `json:"server,omitempty"`

	// identitySecret names the Secret whose key kubeconfig holds the
	// kubeconfig of Harvester.
	// +required
	IdentitySecret SecretKey `json:"identitySecret,omitempty,omitzero"`

	// loadBalancerConfig configures the load balancer that Harvester creates
	// for the control-plane endpoint. If it is not set, controlPlaneEndpoint
	// must be set by the user, for example for kube-vip in the guests.
	// +optional
	LoadBalancerConfig LoadBalancerConfig `json:"loadBalancerConfig,omitempty,omitzero"`

	// controlPlaneEndpoint is the endpoint of the cluster's API server. If
	// the cluster has a load balancer, the controller sets it from the load
	// balancer and it does not change afterwards.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// targetNamespace is the namespace on Harvester in which virtual
	// machines, their volumes and the load balancer are created.
	// +required
	TargetNamespace string `json:"targetNamespace"`

	// updateCloudProviderConfig names the manifests of Harvester's cloud
	// provider. The controller creates a kubeconfig for the cloud provider
	// and writes it to them.
	// +optional
	UpdateCloudProviderConfig UpdateCloudProviderConfig `json:"updateCloudProviderConfig,omitempty,omitzero"`

	// vmNetworkConfig assigns addresses from IPPools to machines. Machines
	// use DHCP if it is not set.
	// +optional
	VMNetworkConfig *VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// failureDomains lists the failure domains of the cluster. A failure
	// domain consists of the hosts of Harvester whose label topologyKey has
	// the value topologyValue. If the list is empty, each value of the host
	// label failureDomainTopologyKey is a failure domain.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []HarvesterFailureDomain `json:"failureDomains,omitempty"`

	// failureDomainTopologyKey is the host label from which failure domains
	// are discovered when failureDomains is empty: each of its values is the
	// name of a failure domain. Hosts without the label are in no failure
	// domain. Defaults to topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	FailureDomainTopologyKey string `json:"failureDomainTopologyKey,omitempty"`

	// distribution configures how machines are spread over the failure
	// domains and what single failure domains may be used for.
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

// APIEndpoint is the endpoint of an API server.
type APIEndpoint struct {
	// host is a host name or an IP address.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port is the port number. Defaults to 6443.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// IsSet reports whether the endpoint is known. Templates use an unspecified
// address, such as 0.0.0.0, for an endpoint that is not known yet.
func (e APIEndpoint) IsSet() bool {
	ip := net.ParseIP(e.Host)
	return e.Host != "" && (ip == nil || !ip.IsUnspecified())
}

// String returns host:port.
func (e APIEndpoint) String() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// HarvesterFailureDomain is a failure domain and the settings of the machines
// in it.
type HarvesterFailureDomain struct {
	// name of the failure domain. Machines refer to it by this name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// controlPlane indicates whether control plane machines may be placed in
	// the failure domain. Defaults to true.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// topologyKey is the label of the hosts in the failure domain. Defaults
	// to topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey,omitempty"`

	// topologyValue is the value of the label. Defaults to the name of the
	// failure domain.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	TopologyValue string `json:"topologyValue,omitempty"`

	// networks that machines in the failure domain are attached to, as
	// namespace/name or name. They replace the networks of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Networks []string `json:"networks,omitempty"`

	// vmNetworkConfig assigns addresses from IPPools to machines in the
	// failure domain. It takes precedence over that of the cluster; that of a
	// machine takes precedence over it.
	// +optional
	VMNetworkConfig *VMNetworkConfig `json:"vmNetworkConfig,omitempty"`

	// storageClass of volumes that are not created from an image, for
	// machines in the failure domain. It replaces the storage class of the
	// machine's volumes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClass string `json:"storageClass,omitempty"`
}

// ForControlPlane reports whether control plane machines may be placed in the
// failure domain.
func (d *HarvesterFailureDomain) ForControlPlane() bool {
	return d.ControlPlane == nil || *d.ControlPlane
}

// Topology returns the host label of the failure domain and its value.
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

// DiscoveryKey returns the host label from which failure domains are
// discovered when the spec lists none.
func (s *HarvesterClusterSpec) DiscoveryKey() string {
	if s.FailureDomainTopologyKey == "" {
		return corev1.LabelTopologyZone
	}
	return s.FailureDomainTopologyKey
}

// UpdateCloudProviderConfig names the manifests of Harvester's cloud provider
// and the Secret in them that receives a kubeconfig. The manifests are in a
// ConfigMap, or in a Secret of type addons.cluster.x-k8s.io/resource-set,
// that a ClusterResourceSet applies to the cluster.
type UpdateCloudProviderConfig struct {
	// manifestsConfigMapNamespace is the namespace of the ConfigMap or
	// Secret. It must be that of the cluster, unless the administrator allows
	// another.
	// +required
	ManifestsConfigMapNamespace string `json:"manifestsConfigMapNamespace"`

	// manifestsConfigMapName is the name of the ConfigMap or Secret.
	// +required
	ManifestsConfigMapName string `json:"manifestsConfigMapName"`

	// manifestsConfigMapKey is the key of the manifests in the ConfigMap or
	// Secret.
	// +required
	ManifestsConfigMapKey string `json:"manifestsConfigMapKey"`

	// cloudConfigCredentialsSecretName is the name of the Secret in the
	// manifests.
	// +required
	CloudConfigCredentialsSecretName string `json:"cloudConfigCredentialsSecretName"`

	// cloudConfigCredentialsSecretKey is the key of the kubeconfig in the
	// Secret.
	// +required
	CloudConfigCredentialsSecretKey string `json:"cloudConfigCredentialsSecretKey"`
}

// HarvesterClusterStatus is the observed state of a HarvesterCluster.
type HarvesterClusterStatus struct {
	// ready is true once Machines can be created. It equals
	// initialization.provisioned and exists for clients of older versions.
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

	// initialization reports the progress of the initial provisioning.
	// +optional
	Initialization Initialization `json:"initialization,omitempty,omitzero"`

	// failureDomains that machines may be placed in, sorted by name. Cluster
	// API copies them to the Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// distribution is the observed state of the failure domains and of the
	// machines in them.
	// +optional
	Distribution faultlinev1.DistributionStatus `json:"distribution,omitempty,omitzero"`

	// workloadClusterUID is the UID of the namespace kube-system of the
	// workload cluster. It is set once the workload cluster has been reached.
	// When the cluster is deleted, the load balancers of Services in
	// targetNamespace with this UID in the annotation
	// cloudprovider.harvesterhci.io/cluster-uid are deleted, too.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	WorkloadClusterUID string `json:"workloadClusterUID,omitempty"`

	// id identifies the cluster on Harvester, in the labels of the objects
	// created for it. It equals the annotation
	// infrastructure.cluster.x-k8s.io/harvester-cluster-id, which is restored
	// from this field if it is removed.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// Initialization reports the progress of the initial provisioning.
type Initialization struct {
	// provisioned is true once Machines of a HarvesterCluster can be created,
	// or once the virtual machine of a HarvesterMachine runs and has its
	// provider ID. It is part of the Cluster API contract and stays true.
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

	// spec defines the Harvester that the cluster runs on, how its API server
	// is reached and the failure domains of its machines.
	// +required
	Spec HarvesterClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the cluster's infrastructure.
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

// ID returns the id of the cluster on Harvester. It is "" as long as no
// object may be created there.
func (c *HarvesterCluster) ID() string {
	if id := c.Annotations[ClusterIDAnnotation]; id != "" {
		return id
	}
	return c.Status.ID
}

// Distribution returns pointers to the desired and the observed distribution
// over failure domains.
func (c *HarvesterCluster) Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus) {
	return &c.Spec.Distribution, &c.Status.Distribution
}

// FailureDomains returns a pointer to the failure domains that Cluster API
// reads.
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
