// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// allocate records the name of the data in the claim and then creates the data. This order guarantees at most one data for each
// claim: the claim is only written at the resourceVersion that was read, so that a manager with a stale cache cannot record a
// second name, and a manager that stopped in between finds the name after its restart. If data of that name belongs to another
// claim, allocate tries the next index.
func (r *TemplateReconciler) allocate(ctx context.Context, s *templateScope, a *assignment) error {
	machine := machineOf(a.claim)
	if problem := allocationProblem(s, machine); problem != "" && a.data == nil {
		return r.reportError(ctx, a.claim, problem)
	}
	for {
		if !a.reserved {
			a.index, a.reserved = s.indexes.take(), true
		}
		if err := r.record(ctx, a); err != nil || a.data != nil {
			return err
		}
		owner, err := r.create(ctx, s, a, machine)
		if err != nil {
			return err
		}
		if owner == a.claim.Name {
			return r.record(ctx, a)
		}
		a.reserved = false
	}
}

// allocationProblem returns why no data can be created for the claim, or "".
func allocationProblem(s *templateScope, machine *metav1.OwnerReference) string {
	switch {
	case s.template == nil:
		return fmt.Sprintf("Metal3DataTemplate %s does not exist: create it", s.key.Name)
	case !s.template.DeletionTimestamp.IsZero():
		return fmt.Sprintf("Metal3DataTemplate %s is being deleted: use another", s.key.Name)
	case machine == nil:
		return "the claim is not owned by a Metal3Machine: data is created only for machines"
	}
	return ""
}

// recorded reports whether the status of the claim is up to date. An error message is kept until the data exists.
func recorded(a *assignment) bool {
	template := a.claim.Spec.Template.Name
	return a.claim.Status.RenderedData != nil && a.claim.Status.RenderedData.Name == dataName(template, a.index) &&
		(a.data == nil || a.claim.Status.ErrorMessage == nil) && controllerutil.ContainsFinalizer(a.claim, infrav1.DataClaimFinalizer)
}

// record writes the name of the existing or future data to the claim.
func (r *TemplateReconciler) record(ctx context.Context, a *assignment) error {
	if recorded(a) {
		return nil
	}
	claim := a.claim
	p := patch.From(claim)
	p.Repeats = &r.claims.Repeats
	controllerutil.AddFinalizer(claim, infrav1.DataClaimFinalizer)
	if err := p.StoreSpec(ctx, r.Client, claim); err != nil {
		return err
	}
	before := claim.DeepCopy()
	if a.data != nil || claim.Status.RenderedData == nil {
		claim.Status.ErrorMessage = nil
	}
	claim.Status.RenderedData = &corev1.ObjectReference{Namespace: claim.Namespace, Name: dataName(claim.Spec.Template.Name, a.index)}
	if err := r.Client.Status().Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("assigning an index to Metal3DataClaim %s: %w", claim.Name, err)
	}
	r.claims.Observe(claim)
	return nil
}

// create creates the data and returns the name of the claim that owns it, which is another claim if the name was taken.
func (r *TemplateReconciler) create(ctx context.Context, s *templateScope, a *assignment, machine *metav1.OwnerReference) (string, error) {
	data := newData(s.template, a.claim, a.index, machine)
	err := r.Client.Create(ctx, data)
	switch {
	case err == nil:
		r.created.Observe(data)
		a.data = data
		return a.claim.Name, nil
	case apierrors.IsAlreadyExists(err):
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(data), data); err != nil {
			return "", fmt.Errorf("reading Metal3Data %s: %w", data.Name, err)
		}
		if data.Spec.Template.Name != s.key.Name {
			return "", nil // the data belongs to another template
		}
		return data.Spec.Claim.Name, nil
	case reconcile.IsRejected(err), reconcile.IsTransient(err): // for example by a quota, whose change is not an event
		return "", kerrors.NewAggregate([]error{err, r.reportError(ctx, a.claim, reconcile.RejectedMessage("Metal3Data", data.Name, err))})
	default:
		return "", fmt.Errorf("creating Metal3Data %s: %w", data.Name, err)
	}
}

// reportError reports in the status why the claim has no data.
func (r *TemplateReconciler) reportError(ctx context.Context, claim *infrav1.Metal3DataClaim, message string) error {
	p := patch.From(claim)
	claim.Status.ErrorMessage = ptr.To(message)
	if err := p.Apply(ctx, r.Client, claim); err != nil {
		return err
	}
	r.claims.Observe(claim)
	return nil
}

// newData returns the Metal3Data of a claim, complete with finalizers and the names of its Secrets, which saves the requests to
// add them.
func newData(
	template *infrav1.Metal3DataTemplate, claim *infrav1.Metal3DataClaim, index int32, machine *metav1.OwnerReference,
) *infrav1.Metal3Data {
	data := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: dataName(template.Name, index),
			Labels:     maps.Clone(claim.Labels),
			Finalizers: []string{infrav1.DataClaimFinalizer, infrav1.DataFinalizer},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3DataClaim", Name: claim.Name, UID: claim.UID, Controller: ptr.To(true)},
				{APIVersion: infrav1.GroupVersion.String(), Kind: machineKind, Name: machine.Name, UID: machine.UID},
			},
		},
		Spec: infrav1.Metal3DataSpec{
			Index:    index,
			Template: corev1.ObjectReference{Namespace: claim.Namespace, Name: template.Name},
			Claim:    corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name},
		},
	}
	if filter, ok := template.Labels[clusterv1.WatchLabel]; ok {
		if data.Labels == nil {
			data.Labels = map[string]string{}
		}
		data.Labels[clusterv1.WatchLabel] = filter
	}
	if template.Spec.MetaData != nil {
		data.Spec.MetaData = &corev1.SecretReference{Namespace: claim.Namespace, Name: render.MetaDataSecret(machine.Name)}
	}
	if template.Spec.NetworkData != nil {
		data.Spec.NetworkData = &corev1.SecretReference{Namespace: claim.Namespace, Name: render.NetworkDataSecret(machine.Name)}
	}
	return data
}

const machineKind = "Metal3Machine"

// machineOf returns the owner reference to a Metal3Machine of any version.
func machineOf(claim *infrav1.Metal3DataClaim) *metav1.OwnerReference {
	for i, owner := range claim.OwnerReferences {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil && gv.Group == infrav1.GroupVersion.Group && owner.Kind == machineKind {
			return &claim.OwnerReferences[i]
		}
	}
	return nil
}
