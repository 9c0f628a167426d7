// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"

	"github.com/faultline-io/faultline/e2e/docker"
)

const (
	// NodeNetwork is the network of Docker that kind's nodes are on.
	NodeNetwork = "kind"
	// PublishedNode is the image that kind's node has unless it is told of another.
	PublishedNode = defaults.Image
	// readyTimeout is how long a node may take to become Ready.
	readyTimeout = 2 * time.Minute
	// finished is a file on the node of a cluster whose creation was not cut short.
	finished = "/kind/finished"
	// reviveTimeout is how long a cluster that is there may take to answer before it
	// is created anew.
	reviveTimeout = 2 * time.Minute
)

// Cluster is a kind cluster of one node.
type Cluster struct {
	Name       string
	Image      string // of the node; "" means kind's own
	Kubeconfig string
	Kubectl    string // the program
	Docker     docker.Docker
}

// Ensure creates the cluster unless it is there and answers.
func (c Cluster) Ensure(ctx context.Context) error {
	names, err := c.provider().List()
	if err != nil {
		return fmt.Errorf("listing kind clusters: %w", err)
	}
	if slices.Contains(names, c.Name) {
		if c.revive(ctx) == nil {
			return nil
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
	if err := c.create(); err != nil {
		return err
	}
	if c.Image != "" {
		if err := c.network(ctx); err != nil {
			return fmt.Errorf("setting up the network of the pods: %w", err)
		}
	}
	if err := c.await(ctx, readyTimeout); err != nil {
		return err
	}
	_, err = c.Docker.Exec(ctx, c.Node(), "touch", finished)
	return err
}

func (c Cluster) create() error {
	options := []kind.CreateOption{
		kind.CreateWithV1Alpha4Config(config(c.Image != "")),
		kind.CreateWithKubeconfigPath(c.Kubeconfig),
		kind.CreateWithNodeImage(c.Image),
		kind.CreateWithDisplayUsage(false), kind.CreateWithDisplaySalutation(false),
	}
	if err := c.provider().Create(c.Name, options...); err != nil {
		return fmt.Errorf("creating kind cluster %s: %w", c.Name, err)
	}
	return nil
}

// config of the cluster. Kind's own node image brings a network of its own, ours
// does not.
func config(ownImage bool) *v1alpha4.Cluster {
	return &v1alpha4.Cluster{
		TypeMeta:   v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes:      []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}},
		Networking: v1alpha4.Networking{DisableDefaultCNI: ownImage},
		// Hosts with cgroup v1 are old, but a test must not care.
		KubeadmConfigPatches: []string{"kind: KubeletConfiguration\nfailCgroupV1: false\n"},
	}
}

// revive starts a cluster whose node was stopped, by a restart of the machine for
// example, and sees whether it was ever finished and answers.
func (c Cluster) revive(ctx context.Context) error {
	if _, err := c.Docker.Run(ctx, "start", c.Node()); err != nil {
		return err
	}
	if _, err := c.Docker.Exec(ctx, c.Node(), "test", "-f", finished); err != nil {
		return err
	}
	if err := c.provider().ExportKubeConfig(c.Name, c.Kubeconfig, false); err != nil {
		return err
	}
	return c.await(ctx, reviveTimeout)
}

// await waits for the node to be Ready. An API server that does not answer yet is
// no reason for kubectl to wait, so that is what this does.
func (c Cluster) await(ctx context.Context, timeout time.Duration) error {
	var last error
	err := apiwait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		_, last = c.Docker.Runner.Run(ctx, c.Kubectl, "--kubeconfig", c.Kubeconfig,
			"wait", "--for=condition=Ready", "node", "--all", "--timeout="+timeout.String())
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the node of kind cluster %s: %w", c.Name, cmp.Or(last, err))
	}
	return nil
}

// Delete deletes the cluster and its kubeconfig.
func (c Cluster) Delete() error {
	if err := c.provider().Delete(c.Name, c.Kubeconfig); err != nil {
		return fmt.Errorf("deleting kind cluster %s: %w", c.Name, err)
	}
	return os.RemoveAll(c.Kubeconfig)
}

// Node is the container of the node.
func (c Cluster) Node() string { return c.Name + "-control-plane" }

// InternalKubeconfig is a kubeconfig for containers on the node's network.
func (c Cluster) InternalKubeconfig() ([]byte, error) {
	content, err := c.provider().KubeConfig(c.Name, true)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of kind cluster %s: %w", c.Name, err)
	}
	return []byte(content), nil
}

// LoadImages gives a node, the container of which has this name, the images that it does not have, and answers them.
func LoadImages(ctx context.Context, d docker.Docker, node string, images ...string) ([]string, error) {
	var missing []string
	for _, image := range images {
		want, err := d.ImageID(ctx, image)
		if err != nil {
			return nil, err
		}
		if want == "" {
			return nil, fmt.Errorf("loading %s: Docker has no such image", image)
		}
		// An image that the node does not have is an error of crictl's.
		have, err := d.Exec(ctx, node, "crictl", "inspecti", "--output", "go-template", "--template", "{{.status.id}}", image)
		if err != nil || !strings.Contains(have, want) {
			missing = append(missing, image)
		}
	}
	if len(missing) == 0 {
		return nil, ctx.Err()
	}
	err := d.Pipe(ctx, missing, node, "ctr", "--namespace=k8s.io", "images", "import", "--digests", "-")
	return missing, err
}

func (c Cluster) provider() *kind.Provider {
	return kind.NewProvider(kind.ProviderWithDocker(), kind.ProviderWithLogger(logger{c.Docker.Log}))
}
