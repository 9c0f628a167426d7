// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// releaseByHand processes the release annotation, "<address>: <namespace>/<name>": it releases an address of a load balancer that no
// longer exists. In any case it removes the annotation.
func (r *IPPoolReconciler) releaseByHand(ctx context.Context, pool *lbv1.IPPool) error {
	asked, ok := pool.Annotations[lbv1.ReleaseAnnotation]
	if !ok {
		return nil
	}
	result, err := r.release(ctx, pool.Name, asked)
	if err != nil {
		return err
	}
	switch err := r.Client.Patch(ctx, pool, removal(asked)); {
	case apierrors.IsInvalid(err): // it was removed or changed concurrently
		return nil
	case err != nil:
		return fmt.Errorf("removing annotation %s of IPPool %s: %w", lbv1.ReleaseAnnotation, pool.Name, err)
	}
	r.Recorder.Eventf(pool, nil, corev1.EventTypeNormal, "ReleaseByHand", "Release", "%s: %s", asked, result)
	return nil
}

// removal removes the release annotation if it still has this value: the pool may be stale. It does not compare the resourceVersion, which
// changes with every allocation.
func removal(asked string) client.Patch {
	path := "/metadata/annotations/" + strings.ReplaceAll(lbv1.ReleaseAnnotation, "/", "~1")
	body, err := json.Marshal([]map[string]string{{"op": "test", "path": path, "value": asked}, {"op": "remove", "path": path}})
	utilruntime.Must(err) // strings can always be encoded
	return client.RawPatch(types.JSONPatchType, body)
}

// release returns a description of the result.
func (r *IPPoolReconciler) release(ctx context.Context, pool, asked string) (string, error) {
	address, id, _ := cutLast(asked, ":")
	addr, err := netip.ParseAddr(strings.TrimSpace(address))
	namespace, name, ok := strings.Cut(strings.TrimSpace(id), "/")
	if err != nil || !ok || namespace == "" || name == "" {
		return "nothing was released: the value must be <address>: <namespace>/<name>", nil //nolint:nilerr // the event reports it
	}
	lb, err := r.balancer(ctx, client.ObjectKey{Namespace: namespace, Name: name})
	switch {
	case err != nil:
		return "", err
	case lb != nil:
		return "nothing was released: the LoadBalancer exists, delete it", nil
	}
	released, err := r.Addresses.ReleaseAddress(ctx, pool, namespace+"/"+name, addr.Unmap())
	switch {
	case err != nil:
		return "", err
	case !released:
		return "nothing was released: the LoadBalancer does not hold the address", nil
	}
	return "released", nil
}

// balancer returns the load balancer, or nil. Holders may have names that are invalid for load balancers: machines use such names on
// purpose, and other clients write holders, too. An API server rejects requests for invalid names.
func (r *IPPoolReconciler) balancer(ctx context.Context, key client.ObjectKey) (*lbv1.LoadBalancer, error) {
	if len(validation.IsDNS1123Label(key.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(key.Name)) > 0 {
		return nil, nil
	}
	return reconcile.Find(ctx, r.Live, key, &lbv1.LoadBalancer{})
}

// cutLast cuts at the last separator, because IPv6 addresses contain it, too.
func cutLast(s, separator string) (before, after string, ok bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(separator):], true
}

// inUse returns the addresses of a load balancer according to its status and its Service.
func (r *IPPoolReconciler) inUse(ctx context.Context, id string) (addresses []netip.Addr, known bool, _ error) {
	namespace, name, ok := strings.Cut(id, "/")
	if !ok {
		return nil, false, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	lb, err := r.balancer(ctx, key)
	if err != nil || lb == nil {
		return nil, false, err
	}
	service, err := reconcile.Find(ctx, r.Live, key, &corev1.Service{})
	if err != nil {
		return nil, false, err
	}
	given := []string{lb.Status.AllocatedAddress.IP, lb.Status.Address}
	if service != nil {
		given = append(given, service.Spec.LoadBalancerIP, service.Annotations[lbv1.AddressesAnnotation])
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			given = append(given, ingress.IP)
		}
	}
	for _, one := range strings.Split(strings.Join(given, ","), ",") {
		if addr, err := netip.ParseAddr(strings.TrimSpace(one)); err == nil {
			addresses = append(addresses, addr.Unmap())
		}
	}
	return addresses, true, nil
}
