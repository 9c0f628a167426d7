// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
)

const (
	// hostMachines is how many machines the cluster on hosts has when it is created, and hostKinds how many kinds there are of the
	// provider's.
	hostMachines = 6
	hostKinds    = 9
	// hostsPerRack is room for all machines that may be anywhere in any rack, so that none waits for a host.
	hostsPerRack = 8
)

//go:embed hosts.yaml
var hostsYAML []byte

// bareMetal is an environment with hosts.
type bareMetal struct {
	*environment
	hostCluster
}

// hostCluster is a workload cluster on three racks of simulated hosts, as it is written for upstream's provider.
type hostCluster struct {
	Managed

	racks provider.Simulation
	// older says that upstream's release has v1beta1 alone.
	older bool
}

// newBareMetal starts upstream's manager for metal3, with hosts, and all that it needs. What it writes is in a folder.
func newBareMetal(ctx context.Context, dir string, progress io.Writer, log logr.Logger) (b *bareMetal, err error) {
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	described := metal3.Provider{}.Describe()
	upstream, config, err := builder.UpstreamMetal3(ctx)
	if err != nil {
		return nil, err
	}
	programs, err := builder.Ensure(ctx, append(binaries.Demo(described.Name), binaries.InClusterIPAM)...)
	if err != nil {
		return nil, err
	}
	g, life := newEnvironment(ctx)
	b = &bareMetal{environment: g}
	b.lease = client.ObjectKey{Namespace: described.Namespace, Name: "controller-leader-election-capm3"}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := b.describe(ctx, builder, programs, described.Name); err != nil {
		return b, err
	}
	b.upstream.Program, b.upstream.Config = upstream, config
	if err := b.start(ctx, life, builder, managementcluster.Options{Dir: dir, Programs: programs}, log); err != nil {
		return b, err
	}
	b.Managed = b.managed
	if err := b.management.Apply(ctx, b.upstream); err != nil {
		return b, err
	}
	b.upstream.Objects = nil // They are the hosts' and not the manager's.
	return b, errors.Join(b.rack(ctx, life), b.version(ctx))
}

// describe says what the two managers are. Upstream's asks for no lease, as its Deployment has it.
func (b *bareMetal) describe(ctx context.Context, builder *binaries.Builder, programs binaries.Paths, name string) error {
	_, clusterAPI, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	objects, err := metal3.Provider{}.Objects()
	if err != nil {
		return err
	}
	b.upstream = managementcluster.Component{Name: binaries.UpstreamMetal3, Objects: objects}
	b.ours = managementcluster.Provider(programs, builder.Root, name)
	b.ours.Args = append(b.ours.Args, "--leader-elect=true", managementcluster.KubeadmVersion(clusterAPI))
	return nil
}

// rack has hosts, which are registered and inspected.
func (b *bareMetal) rack(ctx, life context.Context) error {
	b.racks = metal3.Racks(hostsPerRack)
	operate, err := b.racks.Join(ctx, b.management, b.Workload)
	if err != nil {
		return err
	}
	b.run(life, operate)
	return nil
}

// version looks what upstream's release has.
func (b *bareMetal) version(ctx context.Context) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.Client.Get(ctx, client.ObjectKey{Name: "metal3machines." + infraGroup}, crd); err != nil {
		return err
	}
	b.older = len(crd.Spec.Versions) == 1
	return nil
}

// createCluster creates the cluster.
func (c hostCluster) createCluster(ctx context.Context) error {
	host, port, err := c.Workload.Endpoint(Namespace, name)
	if err != nil {
		return fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	setup, err := c.racks.Setup("")
	if err != nil {
		return err
	}
	variables := map[string]string{"HOST": host, "PORT": strconv.Itoa(port), "VERSION": binaries.KubernetesVersion, "API": "v1beta2", "FORMAT": "diskFormat"}
	if c.older {
		variables["API"], variables["FORMAT"] = "v1beta1", "format"
	}
	maps.Copy(variables, setup.Variables)
	return c.create(ctx, hostsYAML, variables)
}

// Migrated says which kind is not stored in v1beta2 alone.
func (c hostCluster) Migrated(ctx context.Context) (missing string, err error) {
	return c.migrated(ctx, metal3.Provider{}.Describe().Name, hostKinds)
}

// Gone says what there still is of the cluster: objects, or hosts that are not as they were before.
func (c hostCluster) Gone(ctx context.Context) (missing string, err error) {
	if left, err := c.gone(ctx, "Metal3Machine", "Metal3DataClaim", "Metal3Data", "Metal3Remediation", "Metal3Cluster"); left != "" || err != nil {
		return left, err
	}
	return c.racks.Remains(ctx)
}
