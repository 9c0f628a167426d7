// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation is what simulators have in common that run as controllers of an API server. It uses nothing of what they test: a
// defect of the loop, the patches or the caches of our managers must not be one of the simulators too, where it would go unseen. A Proxy before an API server has that disobey: it
// knows users by their tokens, counts what they ask for, and stands in their way.
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

// NewManager returns a manager for the controllers of a simulator, of one namespace or of all if that is empty. What it asks of the API
// server is not limited, and it listens on nothing.
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

// Unlimited returns a configuration without limits whose user agent is the name of a simulator.
func Unlimited(api *rest.Config, name string) *rest.Config {
	api = rest.CopyConfig(api)
	api.QPS, api.RateLimiter, api.UserAgent = -1, nil, name
	return api
}

// ControllerOptions does without controller-runtime's priority queue, whose workers can lock one another up when a manager stops
// (https://github.com/kubernetes-sigs/controller-runtime/issues/3538).
func ControllerOptions() config.Controller {
	return config.Controller{UsePriorityQueue: ptr.To(false)}
}
