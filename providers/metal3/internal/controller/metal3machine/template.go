// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// machineTemplateKind is the kind of this provider's machine templates.
const machineTemplateKind = "Metal3MachineTemplate"

// templateCheck is the interval at which a deleted template is looked up again.
const templateCheck = time.Minute

// waitForTemplate holds a machine whose template was deleted before its data was claimed: only the template defines whether its
// failure domain has its own data template. The template that the owner currently uses is accepted instead.
func (r *Reconciler) waitForTemplate(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.lostTemplate == "" || conditions.IsTrue(s.infra, infrav1.Metal3MachineDataReadyCondition) {
		return reconcile.Proceed, nil
	}
	if claim, err := r.dataClaim(ctx, s); err != nil || claim != nil {
		return reconcile.Proceed, err
	}
	var err error
	// The cache may lag behind a template that is as new as the machine.
	if s.template, err = getTemplate(ctx, r.Hosts.Live, client.ObjectKey{Namespace: s.infra.Namespace, Name: s.lostTemplate}); err == nil && s.template == nil {
		s.template, err = r.currentTemplate(ctx, s)
	}
	if err != nil || s.template != nil {
		return reconcile.Proceed, err
	}
	message := fmt.Sprintf("Metal3MachineTemplate %s, which may name a data template for the machine's failure domain, does not exist: "+
		"create it again, or delete the Machine", s.lostTemplate)
	if s.host == nil {
		r.Hosts.Inventory.Forget(s.key())
		markUnassociated(s, infrav1.Metal3MachineTemplateNotFoundReason, message)
	} else {
		status.False(s.infra, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineTemplateNotFoundReason, message)
	}
	return reconcile.Retry(templateCheck), nil
}

// readTemplate returns the template of the machine, which holds the settings for node reuse and the data templates of failure
// domains. If the template was deleted, it returns its name as lost.
func (r *Reconciler) readTemplate(ctx context.Context, infra *infrav1.Metal3Machine) (_ *infrav1.Metal3MachineTemplate, lost string, _ error) {
	name := infra.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
	kind, ok := infra.Annotations[clusterv1.TemplateClonedFromGroupKindAnnotation]
	if name == "" || ok && kind != infrav1.MachineTemplateGroupKind {
		return nil, "", nil
	}
	template, err := getTemplate(ctx, r.Client, client.ObjectKey{Namespace: infra.Namespace, Name: name})
	if template == nil {
		lost = name
	}
	return template, lost, err
}

// getTemplate returns nil if the template does not exist.
func getTemplate(ctx context.Context, reader client.Reader, key client.ObjectKey) (*infrav1.Metal3MachineTemplate, error) {
	template := &infrav1.Metal3MachineTemplate{}
	if err := reader.Get(ctx, key, template); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading Metal3MachineTemplate %s: %w", key, err)
	}
	return template, nil
}

// currentTemplate returns the template that the machine's owner currently uses, or nil if it is unknown.
func (r *Reconciler) currentTemplate(ctx context.Context, s *scope) (*infrav1.Metal3MachineTemplate, error) {
	ref := s.owner()
	if ref.Name == "" {
		return nil, nil
	}
	// The owner is read rarely, which does not justify a watch on all such objects. Unstructured objects are not cached.
	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion(ref.APIVersion)
	owner.SetKind(ref.Kind)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.infra.Namespace, Name: ref.Name}, owner)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err), apierrors.IsForbidden(err):
		ctrl.LoggerFrom(ctx).Info("Cannot read the current template of the machine's owner", "owner", ref.Kind+" "+ref.Name, "reason", err.Error())
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", ref.Kind, ref.Name, err)
	}
	name := templateName(owner.Object)
	if name == "" {
		return nil, nil
	}
	return getTemplate(ctx, r.Hosts.Live, client.ObjectKey{Namespace: s.infra.Namespace, Name: name})
}

// templateName returns the name of the infrastructure template of an owner of machines. It supports the fields of
// MachineDeployments and MachineSets, and those of control planes of the current and the previous contract.
func templateName(owner map[string]any) string {
	for _, path := range [][]string{
		{"spec", "template", "spec", "infrastructureRef"}, {"spec", "machineTemplate", "spec", "infrastructureRef"},
		{"spec", "machineTemplate", "infrastructureRef"},
	} {
		ref, _, err := unstructured.NestedStringMap(owner, path...)
		if err == nil && ref["kind"] == machineTemplateKind && ref["name"] != "" {
			return ref["name"]
		}
	}
	return ""
}

// owner returns the object that replaces the machine: its control plane, its MachineDeployment, or a MachineSet without a
// MachineDeployment.
func (s *scope) owner() metav1.OwnerReference {
	if s.machine == nil {
		return metav1.OwnerReference{}
	}
	if name := s.machine.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" && !util.IsControlPlaneMachine(s.machine) {
		return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Name: name}
	}
	for _, owner := range s.machine.OwnerReferences {
		if owner.Kind != "Machine" && ptr.Deref(owner.Controller, false) {
			return owner
		}
	}
	return metav1.OwnerReference{}
}

// reuse returns the value of the node-reuse label for hosts of the machine's owner, which is its control plane or its
// MachineDeployment.
func (s *scope) reuse() string {
	switch owner := s.owner(); {
	case owner.Name == "":
		return ""
	case util.IsControlPlaneMachine(s.machine):
		return format.MustFormatValue(infrav1.NodeReuseControlPlanePrefix + owner.Name)
	case owner.Kind == "MachineDeployment":
		return format.MustFormatValue(infrav1.NodeReuseDeploymentPrefix + owner.Name)
	default:
		return ""
	}
}

// nodeReuseLabel returns the value of the node-reuse label for a host that is being released, or "" if the host is not kept. The
// owner's current template decides, not the one that the machine was created from, which may no longer exist.
func (r *Reconciler) nodeReuseLabel(ctx context.Context, s *scope) (string, error) {
	value := s.reuse()
	if value == "" || s.cluster == nil || !s.cluster.DeletionTimestamp.IsZero() {
		return "", nil
	}
	template, err := r.currentTemplate(ctx, s)
	if template == nil {
		template = s.template
	}
	if err != nil || template == nil || !ptr.Deref(template.Spec.NodeReuse, false) {
		return "", err
	}
	return value, nil
}
