// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/shared/ports"
)

const (
	webhookConfiguration = "harvester-simulator"
	readTimeout          = 10 * time.Second
	webhookSecond        = 30
)

// webhooks simulates the webhooks of Harvester and KubeVirt.
type webhooks struct {
	client client.Reader
	// live reads from the API server.
	live client.Reader
	// kubeVirt includes the webhooks of KubeVirt.
	kubeVirt bool
}

// WebhookIdentity holds the serving certificate of the webhooks and its CA.
type WebhookIdentity struct {
	Certificate tls.Certificate
	Authority   []byte
}

// StartWebhooks serves the webhooks and registers them with the API server, until stop is called. It reads from cached, and
// objects that may be missing there from live. The webhooks of KubeVirt are included unless virt-api serves them.
func StartWebhooks(ctx context.Context, cached client.Reader, live client.Client, as WebhookIdentity, kubeVirt bool) (stop func() error, err error) {
	port, err := ports.Reserve(1)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(ports.Host, strconv.Itoa(port.First))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		port.Release()
		return nil, fmt.Errorf("serving webhooks: %w", err)
	}
	hooks := &webhooks{client: cached, live: live, kubeVirt: kubeVirt}
	mux := http.NewServeMux()
	mux.Handle("/machines", &admission.Webhook{Handler: admission.HandlerFunc(hooks.admitMachine)})
	mux.Handle("/volumes", &admission.Webhook{Handler: admission.HandlerFunc(hooks.admitVolume)})
	mux.Handle("/pools", &admission.Webhook{Handler: admission.HandlerFunc(hooks.admitPool)})
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: readTimeout, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{as.Certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with Close
	stop = func() error {
		defer port.Release()
		return server.Close()
	}
	if err := registerWebhooks(ctx, live, "https://"+address, as.Authority); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func registerWebhooks(ctx context.Context, c client.Client, address string, authority []byte) error {
	access := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(address + path), CABundle: authority}
	}
	rules := func(group, version, resource string, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{
			Operations: operations,
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource},
			},
		}}
	}
	const create, update, remove = admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookConfiguration},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "machines.simulator.harvesterhci.io", ClientConfig: access("/machines"), TimeoutSeconds: ptr.To[int32](webhookSecond),
			Rules:       rules(kubevirtv1.GroupVersion.Group, kubevirtv1.GroupVersion.Version, "virtualmachines", create, update),
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhookConfiguration}}
	for path, rules := range map[string][]admissionregistrationv1.RuleWithOperations{
		"volumes": rules(corev1.GroupName, "v1", "persistentvolumeclaims", remove),
		"pools":   rules(lbv1.GroupVersion.Group, lbv1.GroupVersion.Version, "ippools", remove),
	} {
		validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: path + ".simulator.harvesterhci.io", ClientConfig: access("/" + path), TimeoutSeconds: ptr.To[int32](webhookSecond),
			Rules: rules, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		})
	}
	for _, object := range []client.Object{mutating, validating} {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("registering webhooks: %w", err)
		}
	}
	return nil
}

// admitMachine mutates a virtual machine as Harvester does, or rejects it as KubeVirt does.
func (w *webhooks) admitMachine(ctx context.Context, req admission.Request) admission.Response {
	vm := &kubevirtv1.VirtualMachine{}
	if err := json.Unmarshal(req.Object.Raw, vm); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if vm.DeletionTimestamp != nil {
		return admission.Allowed("")
	}
	if vm.Spec.Template == nil && !w.kubeVirt {
		return admission.Allowed("")
	}
	if problem := validate(vm); problem != "" && w.kubeVirt {
		return admission.Denied(problem)
	}
	networks, err := w.clusterNetworks(ctx, req.Namespace, &vm.Spec.Template.Spec)
	if err != nil {
		return admission.Denied(err.Error())
	}
	requireNetworks(&vm.Spec.Template.Spec, networks)
	overcommit(&vm.Spec.Template.Spec.Domain)
	if w.kubeVirt {
		setDefaults(vm)
	}
	if err := keepRunStrategy(req, vm); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	changed, err := json.Marshal(vm)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, changed)
}

// admitVolume protects a PVC that a virtual machine refers to. It reads the name from the object, because the request has none
// when a collection is deleted.
func (w *webhooks) admitVolume(ctx context.Context, req admission.Request) admission.Response {
	claim := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(req.OldObject.Raw, claim); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	users := &kubevirtv1.VirtualMachineList{}
	if err := w.client.List(ctx, users, client.InNamespace(req.Namespace), client.MatchingFields{cluster.ClaimField: claim.Name}); err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	for i := range users.Items {
		if users.Items[i].DeletionTimestamp == nil {
			return admission.Denied(fmt.Sprintf("can not delete the volume %s which is currently attached to VMs", claim.Name))
		}
	}
	return admission.Allowed("")
}

// admitPool protects a pool with allocated addresses.
func (w *webhooks) admitPool(_ context.Context, req admission.Request) admission.Response {
	pool := &lbv1.IPPool{}
	if err := json.Unmarshal(req.OldObject.Raw, pool); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if len(pool.Status.Allocated) > 0 {
		return admission.Denied(fmt.Sprintf("can not delete the pool %s which has allocated addresses", req.Name))
	}
	return admission.Allowed("")
}
