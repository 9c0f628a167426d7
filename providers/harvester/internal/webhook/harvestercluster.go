// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules"
)

// defaultAPIServerPort is the default port of API servers.
const defaultAPIServerPort = 6443

// harvesterCluster holds the rules for HarvesterClusters that need other objects. Its Reader should be uncached, so that it sees objects
// that were just created.
type harvesterCluster struct {
	Reader client.Reader
	// Consent determines what a cluster may use in other namespaces.
	Consent owned.Consent
}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-harvestercluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=create;update,versions=v1beta1,name=validation.harvestercluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta1-harvestercluster,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=create;update,versions=v1beta1,name=default.harvestercluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultCluster sets the default port of the API server, and restores a known endpoint if an unspecified address is applied again:
// templates of ClusterClasses contain one, and the topology controller keeps applying it. All other defaults are applied where the fields
// are read, so that objects are stored as the user wrote them.
func defaultCluster(ctx context.Context, cluster *infrav1.HarvesterCluster) error {
	endpoint := &cluster.Spec.ControlPlaneEndpoint
	if endpoint.Host != "" && !endpoint.IsSet() {
		known, err := knownEndpoint(ctx)
		if err != nil {
			return err
		}
		if known.IsSet() {
			*endpoint = known
		}
	}
	if endpoint.Host != "" && endpoint.Port == 0 {
		endpoint.Port = defaultAPIServerPort
	}
	return nil
}

// knownEndpoint returns the cluster's endpoint before the request in the context.
func knownEndpoint(ctx context.Context) (infrav1.APIEndpoint, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return infrav1.APIEndpoint{}, fmt.Errorf("reading the admission request: %w", err)
	}
	before := &infrav1.HarvesterCluster{}
	if len(request.OldObject.Raw) == 0 {
		return infrav1.APIEndpoint{}, nil
	}
	if err := json.Unmarshal(request.OldObject.Raw, before); err != nil {
		return infrav1.APIEndpoint{}, fmt.Errorf("reading the HarvesterCluster before the request: %w", err)
	}
	return before.Spec.ControlPlaneEndpoint, nil
}

// create rejects another cluster's identity, and references to other namespaces that the cluster may not use.
func (w harvesterCluster) create(ctx context.Context, cluster *infrav1.HarvesterCluster) (admission.Warnings, field.ErrorList, error) {
	copied, err := validateNewIdentity(ctx, w.Reader, cluster, infrav1.ClusterIDAnnotation, &infrav1.HarvesterClusterList{})
	if err != nil {
		return nil, nil, err
	}
	warnings, foreign, err := w.validateCrossNamespace(ctx, nil, cluster)
	return warnings, append(copied, foreign...), err
}

// update rejects changes that the cluster's machines cannot follow.
func (w harvesterCluster) update(ctx context.Context, before, after *infrav1.HarvesterCluster) (admission.Warnings, field.ErrorList, error) {
	inUse, err := w.redefinedInUse(ctx, before, after)
	if err != nil {
		return nil, nil, err
	}
	warnings, foreign, err := w.validateCrossNamespace(ctx, before, after)
	return append(warnClusterChange(before, after), warnings...), slices.Concat(validateClusterChange(before, after), inUse, foreign), err
}

// validateClusterObject validates a cluster, requires fields that a template may leave to its ClusterClass, and rejects two names for one
// pool.
func validateClusterObject(cluster *infrav1.HarvesterCluster) field.ErrorList {
	path := field.NewPath("spec")
	errs := append(validateCluster(cluster.Spec, path), requireCluster(cluster.Spec, path)...)
	errs = append(errs, validateIdentity(cluster, infrav1.ClusterIDAnnotation)...)
	config := cluster.Spec.LoadBalancerConfig
	if config.IPPool != (infrav1.IPPool{}) && config.IPPoolRef != "" && config.IPPoolRef != recordedPoolName(cluster) {
		errs = append(errs, field.Forbidden(path.Child("loadBalancerConfig", "ipPoolRef"),
			"must not be set together with ipPool: remove ipPool to use the pool "+config.IPPoolRef+", or ipPoolRef to have a pool created"))
	}
	return errs
}

// requireCluster requires the fields that every cluster needs.
func requireCluster(spec infrav1.HarvesterClusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.IdentitySecret.Name == "" {
		errs = append(errs, field.Required(path.Child("identitySecret", "name"), "must name the Secret with Harvester's kubeconfig in its key "+infrav1.KubeconfigKey))
	}
	if spec.IdentitySecret.Namespace == "" {
		errs = append(errs, field.Required(path.Child("identitySecret", "namespace"), "must name the namespace of the Secret with Harvester's kubeconfig"))
	}
	if spec.TargetNamespace == "" {
		errs = append(errs, field.Required(path.Child("targetNamespace"), "must name the namespace on Harvester for the virtual machines"))
	}
	return errs
}

// validateCluster validates the spec of a cluster or template.
func validateCluster(spec infrav1.HarvesterClusterSpec, path *field.Path) field.ErrorList {
	errs := validateLoadBalancer(spec.LoadBalancerConfig, spec.ControlPlaneEndpoint.Port, path.Child("loadBalancerConfig"))
	if spec.TargetNamespace != "" {
		errs = append(errs, validateNamespace(spec.TargetNamespace, path.Child("targetNamespace"))...)
	}
	if spec.VMNetworkConfig != nil {
		errs = append(errs, validateVMNetwork(*spec.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
	}
	errs = append(errs, validateDomains(spec, path)...)
	return append(errs, rules.Workers(spec.Distribution.Workers, path.Child("distribution", "workers"), topologyKeys(spec)...)...)
}

func validateNamespace(name string, path *field.Path) field.ErrorList {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be a namespace name: at most 63 lower-case letters, digits and '-'")}
}

// validateClusterChange rejects changes that would leave existing objects behind.
func validateClusterChange(before, after *infrav1.HarvesterCluster) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if was := before.Spec.TargetNamespace; was != "" && was != after.Spec.TargetNamespace {
		errs = append(errs, field.Forbidden(path.Child("targetNamespace"),
			"must not be changed, because the machines are in "+was+": create another cluster"))
	}
	was := before.Spec.ControlPlaneEndpoint
	if !was.IsSet() {
		return errs
	}
	if was != after.Spec.ControlPlaneEndpoint {
		errs = append(errs, field.Forbidden(path.Child("controlPlaneEndpoint"),
			"must not be changed, because the machines were created for "+was.String()+": create another cluster"))
	}
	mutable := []string{"listeners", "description"}
	if after.Spec.LoadBalancerConfig.IPPoolRef == recordedPoolName(after) {
		mutable = append(mutable, "ipPoolRef")
	}
	return append(errs, rules.Changed(&before.Spec.LoadBalancerConfig, &after.Spec.LoadBalancerConfig, path.Child("loadBalancerConfig"),
		"the control-plane endpoint "+was.String()+" depends on it: create another cluster", mutable...)...)
}

// warnClusterChange returns warnings about valid but surprising changes.
func warnClusterChange(before, after *infrav1.HarvesterCluster) admission.Warnings {
	none := infrav1.UpdateCloudProviderConfig{}
	if before.Spec.UpdateCloudProviderConfig == none || after.Spec.UpdateCloudProviderConfig != none {
		return nil
	}
	return admission.Warnings{rules.Warning(field.NewPath("spec", "updateCloudProviderConfig"),
		"is removed, which deletes the cloud provider's account on Harvester; a cloud provider that still runs in the cluster needs another kubeconfig")}
}

// warnClusterObject returns warnings about a valid but surprising cluster.
func warnClusterObject(cluster *infrav1.HarvesterCluster) admission.Warnings {
	path := field.NewPath("spec")
	warnings := warnCluster(cluster.Spec, path)
	if cluster.Spec.LoadBalancerConfig.IPAMType == "" && !cluster.Spec.ControlPlaneEndpoint.IsSet() {
		warnings = append(warnings, rules.Warning(path.Child("controlPlaneEndpoint", "host"),
			"is required before machines are created, because loadBalancerConfig is not set: set it to the address of the API server"))
	}
	return warnings
}

// warnCluster returns warnings about a valid but surprising spec of a cluster or template.
func warnCluster(spec infrav1.HarvesterClusterSpec, path *field.Path) admission.Warnings {
	warnings := warnLoadBalancer(spec.LoadBalancerConfig, path.Child("loadBalancerConfig"))
	if spec.VMNetworkConfig != nil {
		warnings = append(warnings, warnVMNetwork(*spec.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
	}
	warnings = append(warnings, warnDomains(spec, path)...)
	return append(warnings, rules.WarnWorkers(spec.Distribution.Workers, path.Child("distribution", "workers"))...)
}
