// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// populate makes what is there from the beginning.
func (s *Simulator) populate(ctx context.Context) error {
	for _, name := range s.settings.namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making namespace %s: %w", name, err)
		}
	}
	for _, host := range s.settings.layout.Hosts {
		if err := s.AddHost(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

// AddHost adds a host that works.
func (s *Simulator) AddHost(ctx context.Context, host Host) error {
	node := host.node()
	taints := node.Spec.Taints
	if err := s.client.Create(ctx, node); err != nil {
		return fmt.Errorf("making host %s: %w", host.Name, err)
	}
	node.Status = host.status(metav1.NewTime(s.settings.now()))
	if err := s.client.Status().Update(ctx, node); err != nil {
		return fmt.Errorf("making host %s ready: %w", host.Name, err)
	}
	// The API server has added that it is not ready, which a controller takes away elsewhere.
	node.Spec.Taints = taints
	if err := s.client.Update(ctx, node); err != nil {
		return fmt.Errorf("making host %s schedulable: %w", host.Name, err)
	}
	return nil
}
