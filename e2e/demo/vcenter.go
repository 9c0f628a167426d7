// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util/kubeconfig"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/writer"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// someWrites are sufficient to show that a client can write.
const someWrites = 10

// startWriting makes a client write to the cluster until writesKept or the end of the demo.
func (d *demo) startWriting(ctx context.Context) error {
	content, err := kubeconfig.FromSecret(ctx, d.Management.Client, d.cluster)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the cluster: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	if d.client, err = writer.Start(d.life, config); err != nil { //nolint:contextcheck // The client writes until the demo ends.
		return err
	}
	d.reporter.note(fmt.Sprintf("a client creates a ConfigMap every %s", writer.Every))
	return provider.Until(ctx, d.awaitWrites(someWrites))
}

// awaitWrites returns what is missing until the client's next writes are acknowledged.
func (d *demo) awaitWrites(more int) func(context.Context) (string, error) {
	want := d.client.Acknowledged() + more
	return func(context.Context) (string, error) {
		if n := d.client.Acknowledged(); n < want {
			return fmt.Sprintf("%d of %d writes are acknowledged", n, want), nil
		}
		return "", nil
	}
}

// continues waits until the machines of the lost infrastructure are seen as lost, and verifies that all others, the quorum of etcd and the API
// server stay.
func (d *demo) continues(ctx context.Context) error {
	written := d.awaitWrites(someWrites)
	err := d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		missing, err := snapshot.Lost(now, d.failed.Domain)
		if missing != "" || err != nil {
			return missing, err
		}
		if missing, err := d.completeWithout(ctx, d.failed.Domain); missing != "" || err != nil {
			return missing, err
		}
		if missing, err := written(ctx); missing != "" || err != nil {
			return missing, err
		}
		return d.serverNamed(ctx)
	})
	if err != nil {
		return err
	}
	return d.quorum(ctx)
}

// serverNamed returns what is missing until the lost infrastructure is named by its domain's own object and by the infrastructure cluster.
func (d *demo) serverNamed(ctx context.Context) (missing string, err error) {
	server := d.infrastructure.(provider.SeveralSimulation).Server(d.failed.Domain)
	ready, err := d.domainCondition(ctx, d.failed.Domain)
	if err != nil {
		return "", err
	}
	_, known, err := d.infrastructureCluster(ctx)
	if err != nil {
		return "", err
	}
	var state faultlinev1.DomainStatus
	for _, domain := range known.FailureDomains {
		if domain.Name == d.failed.Domain {
			state = domain
		}
	}
	for _, message := range []string{ready.Message, state.Message} {
		if !strings.Contains(message, server) {
			return fmt.Sprintf("%s is not in the message %q of failure domain %s", server, message, d.failed.Domain), nil
		}
	}
	d.reporter.note(fmt.Sprintf("the Cluster's state of %s: %s %s: %s", state.Name, state.State, state.Reason, state.Message))
	return "", nil
}

// quorum verifies that etcd has lost the member of the failed machine, and only this one.
func (d *demo) quorum(ctx context.Context) error {
	members, err := d.Workload.Members(ctx, d.cluster)
	if err != nil {
		return err
	}
	up := 0
	for _, member := range members {
		if member.Healthy != (member.Machine != d.failed.Name) {
			return fmt.Errorf("etcd's member on %s is healthy: %v", member.Machine, member.Healthy)
		}
		if member.Healthy {
			up++
		}
	}
	d.reporter.note(fmt.Sprintf("%d of %d members of etcd are up", up, len(members)))
	return nil
}

// writesKept ends writing and verifies that everything that was acknowledged is there.
func (d *demo) writesKept(ctx context.Context) error {
	lost, err := d.client.Lost(ctx)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d acknowledged writes are lost: %s", len(lost), strings.Join(lost, ", "))
	}
	d.reporter.note(d.written())
	return nil
}

// written describes what the client has written, once writesKept has verified it.
func (d *demo) written() string {
	return fmt.Sprintf("%d writes were acknowledged and none of them was lost; the longest gap between two was %s",
		d.client.Acknowledged(), d.client.LongestGap().Round(time.Millisecond))
}
