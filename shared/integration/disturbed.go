// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// NewInterceptedClient returns a NewClientFunc for a manager whose client calls are intercepted by the given functions.
func NewInterceptedClient(by ...interceptor.Funcs) client.NewClientFunc {
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		for _, funcs := range by {
			c = interceptor.NewClient(c, funcs)
		}
		return c, nil
	}
}
