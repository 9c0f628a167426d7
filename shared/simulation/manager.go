// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation contains the shared parts of simulators that run as controllers. It uses none of the code that they test: a
// defect in the managers' reconcile loop, patches or caches must not also be in the simulators, where it would remain undetected.
// A Proxy in front of an API server injects faults: it authenticates users by their tokens, counts their requests, and obstructs
// them.
package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// NewManager returns a manager for the controllers of a simulator, for one namespace, or for all if that is empty. Its requests
// are not rate limited, and it serves nothing.
func NewManager(api *rest.Config, name, namespace string, scheme *runtime.Scheme) (ctrl.Manager, error) {
	options := ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, Controller: ControllerOptions(),
	}
	if namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	mgr, err := ctrl.NewManager(Unlimited(api, name), options)
	if err != nil {
		return nil, fmt.Errorf("creating manager: %w", err)
	}
	return mgr, nil
}

// Unlimited returns a client configuration without rate limit whose user agent is the name of a simulator.
func Unlimited(api *rest.Config, name string) *rest.Config {
	api = rest.CopyConfig(api)
	api.QPS, api.RateLimiter, api.UserAgent = -1, nil, name
	return api
}

// ControllerOptions disables controller-runtime's priority queue, whose workers can deadlock when a manager stops
// (https://github.com/kubernetes-sigs/controller-runtime/issues/3538).
func ControllerOptions() config.Controller {
	return config.Controller{UsePriorityQueue: ptr.To(false)}
}
