// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// defaultAPIServerPort is the default port of API servers.
const defaultAPIServerPort = 6443

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=create;update,versions=v1beta2,name=validation.metal3cluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=create;update,versions=v1beta2,name=default.metal3cluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultCluster sets the default port of the API server, and that there is no cloud provider.
func defaultCluster(_ context.Context, cluster *infrav1.Metal3Cluster) error {
	if endpoint := &cluster.Spec.ControlPlaneEndpoint; endpoint.Host != "" && endpoint.Port == 0 {
		endpoint.Port = defaultAPIServerPort
	}
	if cluster.Spec.CloudProviderEnabled == nil {
		cluster.Spec.CloudProviderEnabled = ptr.To(false)
	}
	return nil
}

// updateCluster rejects the removal of a failure domain that has machines: they would be in no failure domain. The reader should
// be uncached, so that machines created a moment ago count.
func updateCluster(reader client.Reader) func(context.Context, *infrav1.Metal3Cluster, *infrav1.Metal3Cluster) (admission.Warnings, field.ErrorList, error) {
	return func(ctx context.Context, before, after *infrav1.Metal3Cluster) (admission.Warnings, field.ErrorList, error) {
		errs, err := removedInUse(ctx, reader, before, after)
		return nil, errs, err
	}
}

// removedInUse returns an error for each removed failure domain that has machines.
func removedInUse(ctx context.Context, reader client.Reader, before, after *infrav1.Metal3Cluster) (field.ErrorList, error) {
	removed := removedDomains(before.Spec.FailureDomains, after.Spec.FailureDomains)
	name := rules.ClusterName(after)
	if len(removed) == 0 || name == "" || !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	machines, err := machinesByDomain(ctx, reader, client.ObjectKey{Namespace: after.Namespace, Name: name})
	if err != nil {
		return nil, err
	}
	var errs field.ErrorList
	for _, domain := range removed {
		if names := machines[domain]; len(names) > 0 {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "failureDomains"), fmt.Sprintf(
				"may not remove %s: %s in it; set it to Cordoned in spec.distribution, replace the machines, and then remove it",
				domain, rules.InUseBy("Metal3Machine", names))))
		}
	}
	return errs, nil
}

// removedDomains returns the names of the failure domains that are in before and not in after, sorted.
func removedDomains(before, after []clusterv1.FailureDomain) []string {
	var removed []string
	for _, domain := range before {
		if !hasDomain(after, domain.Name) {
			removed = append(removed, domain.Name)
		}
	}
	slices.Sort(removed)
	return removed
}

// validateClusterObject validates a cluster, and requires an endpoint unless the cluster is managed externally.
func validateClusterObject(cluster *infrav1.Metal3Cluster) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateCluster(cluster.Spec, path)
	if cluster.Spec.ControlPlaneEndpoint.Host == "" && !annotations.IsExternallyManaged(cluster) {
		errs = append(errs, field.Required(path.Child("controlPlaneEndpoint", "host"),
			"must be the address of the API server: a virtual IP address or a load balancer in front of the control plane's hosts"))
	}
	return errs
}

// validateCluster validates a cluster spec, of a cluster or a template.
func validateCluster(spec infrav1.Metal3ClusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, domain := range spec.FailureDomains {
		errs = append(errs, validateDomainName(domain.Name, path.Child("failureDomains").Index(i).Child("name"))...)
	}
	for i, intent := range spec.Distribution.FailureDomains {
		errs = append(errs, validateDomainName(intent.Name, path.Child("distribution", "failureDomains").Index(i).Child("name"))...)
	}
	return append(errs, rules.Workers(spec.Distribution.Workers, path.Child("distribution", "workers"))...)
}

// warnCluster returns warnings about valid but surprising settings of a cluster.
func warnCluster(spec infrav1.Metal3ClusterSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	for i, intent := range spec.Distribution.FailureDomains {
		if !hasDomain(spec.FailureDomains, intent.Name) {
			warnings = append(warnings, rules.Warning(path.Child("distribution", "failureDomains").Index(i).Child("name"),
				"%s is not in spec.failureDomains, so its state applies only to machines that name it; correct the name or add it there", intent.Name))
		}
	}
	return append(warnings, rules.WarnWorkers(spec.Distribution.Workers, path.Child("distribution", "workers"))...)
}

func hasDomain(domains []clusterv1.FailureDomain, name string) bool {
	return slices.ContainsFunc(domains, func(domain clusterv1.FailureDomain) bool { return domain.Name == name })
}
