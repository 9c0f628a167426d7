// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/watch"
)

// Indexes of data: by the name of its claim, which is also the name of the machine, and by the names of its Secrets.
const (
	claimIndex  = "spec.claim.name"
	secretIndex = "spec.secrets"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	clusterDatas, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.Metal3DataList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("mapping Clusters to Metal3Datas: %w", err)
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.Metal3Data{}, builder.WithPredicates(watch.SpecOrMetadataChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterDatas),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Watches(&infrav1.Metal3DataClaim{}, handler.EnqueueRequestsFromMapFunc(r.dataOfClaim), builder.WithPredicates(watch.SpecOrMetadataChanged())).
		Watches(&infrav1.Metal3DataTemplate{}, handler.EnqueueRequestsFromMapFunc(r.dataOfTemplate), builder.WithPredicates(watch.Created())).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(r.dataOfMetal3Machine), builder.WithPredicates(watch.SpecOrMetadataChanged())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.dataOfMachine), builder.WithPredicates(watch.SpecOrMetadataChanged())).
		Watches(&bmov1alpha1.BareMetalHost{}, handler.EnqueueRequestsFromMapFunc(r.dataOfHost), builder.WithPredicates(renderInputChanged())).
		Watches(&ipamclusterv1.IPAddressClaim{}, handler.EnqueueRequestsFromMapFunc(r.dataOfAddressClaim)).
		Watches(&ipamclusterv1.IPAddress{}, handler.EnqueueRequestsFromMapFunc(ipamclaim.OfAddress(r.Client, r.dataOfAddressClaim)), builder.WithPredicates(watch.Created())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.dataOfSecret), builder.WithPredicates(watch.Deleted())).
		Build(r)
	if err != nil {
		return err
	}
	r.pools = []addressProvider{metal3Pools{r, &lateWatch{mgr: mgr, controller: c, reconciler: r}}, clusterAPIPools{r}}
	return nil
}

func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &infrav1.Metal3Data{}, claimIndex, func(o client.Object) []string {
		return []string{o.(*infrav1.Metal3Data).Spec.Claim.Name}
	}); err != nil {
		return fmt.Errorf("indexing Metal3Datas by their claim: %w", err)
	}
	if err := indexer.IndexField(ctx, &infrav1.Metal3Data{}, secretIndex, func(o client.Object) []string {
		return secretNames(o.(*infrav1.Metal3Data))
	}); err != nil {
		return fmt.Errorf("indexing Metal3Datas by their Secrets: %w", err)
	}
	if err := indexer.IndexField(ctx, &ipamclusterv1.IPAddressClaim{}, ipamclaim.OwnerIndex, ownedByData()); err != nil {
		return fmt.Errorf("indexing IPAddressClaims by their owner: %w", err)
	}
	return nil
}

// ownedByData indexes claims by the data that owns them.
func ownedByData() client.IndexerFunc {
	return ipamclaim.ByOwner(infrav1.GroupVersion.WithKind(dataKind).GroupKind())
}

// renderInputChanged passes updates of hosts that change a field that templates can refer to.
func renderInputChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*bmov1alpha1.BareMetalHost), e.ObjectNew.(*bmov1alpha1.BareMetalHost)
		return before.Spec.BootMACAddress != after.Spec.BootMACAddress ||
			!equality.Semantic.DeepEqual(before.Spec.ConsumerRef, after.Spec.ConsumerRef) ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			!equality.Semantic.DeepEqual(nics(before), nics(after))
	}}
}

func nics(host *bmov1alpha1.BareMetalHost) []bmov1alpha1.NIC {
	if host.Status.HardwareDetails == nil {
		return nil
	}
	return host.Status.HardwareDetails.NIC
}
