// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cmd"
	"sigs.k8s.io/kind/pkg/log"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	// NodeNetwork is the Docker network of kind's nodes.
	NodeNetwork = "kind"
	// PublishedNode is kind's default node image.
	PublishedNode = defaults.Image
	// podSubnet is the subnet that kind assigns to the first, and here only, node of a cluster.
	podSubnet = "10.244.0.0/24"
	// readyTimeout bounds the wait for a node to become Ready.
	readyTimeout = 2 * time.Minute
	// finished is a file on the node that marks a completely created cluster.
	finished = "/kind/finished"
	// reviveTimeout bounds the wait for an existing cluster to respond before it is recreated.
	reviveTimeout = 2 * time.Minute
)

// Cluster is a kind cluster of one node.
type Cluster struct {
	Name       string
	Image      string // of the node; "" means kind's own
	Kubeconfig string
	Kubectl    string // path of the program
	Docker     docker.Docker
}

// Ensure creates the cluster unless it exists and responds.
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

// config returns the configuration of the cluster. Kind's own node image has its own network; ours has none.
func config(ownImage bool) *v1alpha4.Cluster {
	return &v1alpha4.Cluster{
		TypeMeta:   v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes:      []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}},
		Networking: v1alpha4.Networking{DisableDefaultCNI: ownImage},
		// Hosts with cgroup v1 are old, but must be able to run tests.
		KubeadmConfigPatches: []string{"kind: KubeletConfiguration\nfailCgroupV1: false\n"},
	}
}

// network configures the network of the pods.
func (c Cluster) network(ctx context.Context) error {
	return c.Docker.Feed(ctx, strings.NewReader(tool.PodNetwork(podSubnet)), "exec", "--interactive", c.Node(),
		"bash", "-ec", "mkdir -p /etc/cni/net.d; cat > /etc/cni/net.d/10-ptp.conflist")
}

// revive starts a cluster whose node was stopped, for example by a reboot, and verifies that it was completely created and responds.
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

// await waits until the node is Ready. kubectl does not wait for an API server that does not respond yet, so this polls.
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

// Node returns the name of the node's container.
func (c Cluster) Node() string { return c.Name + "-control-plane" }

// InternalKubeconfig returns a kubeconfig for containers on the node's network.
func (c Cluster) InternalKubeconfig() ([]byte, error) {
	content, err := c.provider().KubeConfig(c.Name, true)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of kind cluster %s: %w", c.Name, err)
	}
	return []byte(content), nil
}

// LoadImages loads the images that a node lacks into the container of that node, and returns them.
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
		// crictl returns an error for an image that the node does not have.
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
	return kind.NewProvider(kind.ProviderWithDocker(), kind.ProviderWithLogger(logger(c.Docker.Log)))
}

// logger returns kind's logger, which drops the output of every command, with out in place of standard error; nil means nowhere.
func logger(out io.Writer) log.Logger {
	if out == nil {
		return log.NoopLogger{}
	}
	l := cmd.NewLogger()
	l.(interface{ SetWriter(w io.Writer) }).SetWriter(out)
	return l
}
