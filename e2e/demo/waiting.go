// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// workerWaits deletes a worker in the broken domain. Its MachineDeployment is for that domain alone: what comes in its place has to
// wait, and nothing may be created for it anywhere.
func (d *demo) workerWaits(ctx context.Context) error {
	before, err := d.observe(ctx)
	if err != nil {
		return err
	}
	worker, err := workerIn(before, d.failed.Domain)
	if err != nil {
		return err
	}
	if err := d.letGo(ctx, worker); err != nil {
		return err
	}
	waits := ""
	err = provider.Until(ctx, func(ctx context.Context) (missing string, err error) {
		now, err := d.observe(ctx)
		if err != nil {
			return "", err
		}
		replacement, missing, err := waiting(now, worker)
		if missing != "" || err != nil {
			return missing, err
		}
		var machine clusterv1.Machine
		if err := d.management.Client.Get(ctx, client.ObjectKey{Namespace: d.cluster.Namespace, Name: replacement}, &machine); err != nil {
			return "", err
		}
		if waits = waitsFor(d.failed.Domain, machine.Status.Conditions); waits == "" {
			return fmt.Sprintf("Machine %s does not say that it waits for %s", replacement, d.failed.Domain), nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	d.tell("", waits)
	return nil
}

// waiting finds the machine that has come in the place of another, which has to be gone, and checks that the infrastructure has
// nothing of it.
func waiting(now Snapshot, gone Machine) (replacement, missing string, err error) {
	for _, m := range now.Machines {
		switch {
		case m.Name == gone.Name:
			return "", "Machine " + m.Name + " is still there", nil
		case m.Role != gone.Role:
		case m.Domain != "":
			return "", "", &provider.Violation{Rule: fmt.Sprintf("machine %s was put into %s while %s is broken", m.Name, m.Domain, gone.Domain)}
		case m.Asked == gone.Domain:
			replacement = m.Name
		}
	}
	if replacement == "" {
		missing = "nothing has come in the place of Machine " + gone.Name
	}
	return replacement, missing, nil
}

// waitsFor is what a Machine says of its infrastructure as long as that waits for a domain; "" when it does not say so.
func waitsFor(domain string, conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Type == clusterv1.MachineInfrastructureReadyCondition && c.Status != metav1.ConditionTrue && strings.Contains(c.Message, domain) {
			return fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

// workerIn is a worker in a domain.
func workerIn(now Snapshot, domain string) (Machine, error) {
	for _, m := range now.Machines {
		if m.isOf(domain) && m.Role != roleControlPlane && m.Role != "" {
			m.Domain = domain
			return m, nil
		}
	}
	return Machine{}, fmt.Errorf("there is no worker in %s", domain)
}
