//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
	"github.com/faultline-io/faultline/shared/ports"
)

const username, password = "administrator", "simulator"

// vSphere is an environment with a vCenter.
type vSphere struct {
	*environment
	Cluster
}

// newVSphere starts everything except a manager for vSphere. It writes its files to a folder.
func newVSphere(ctx context.Context, dir string, progress io.Writer, log logr.Logger) (v *vSphere, err error) {
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	described := vsphere.Provider{}.Describe()
	programs, err := builder.Ensure(ctx, append(binaries.Demo(described.Name), binaries.UpstreamVSphere, binaries.InClusterIPAM)...)
	if err != nil {
		return nil, err
	}
	g, life := newEnvironment(ctx)
	v = &vSphere{environment: g}
	v.lease = client.ObjectKey{Namespace: described.Namespace, Name: "capv-controller-manager-runtime"}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	if v.VCenter, err = NewVCenter(ctx, ports.Host, url.UserPassword(username, password)); err != nil {
		return v, fmt.Errorf("starting vcsim: %w", err)
	}
	v.run(life, v.VCenter.Run)
	if err := v.describe(ctx, builder, programs, dir); err != nil {
		return v, err
	}
	err = v.start(ctx, life, builder, managementcluster.Options{Dir: dir, Programs: programs}, log)
	v.Managed = v.managed
	return v, err
}

// describe returns the components of the two managers.
func (v *vSphere) describe(ctx context.Context, builder *binaries.Builder, programs binaries.Paths, dir string) error {
	folder, version, err := builder.Upstream(ctx)
	if err != nil {
		return err
	}
	_, clusterAPI, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	credentials := filepath.Join(dir, "credentials.yaml")
	if err := os.WriteFile(credentials, fmt.Appendf(nil, "username: %q\npassword: %q\n", username, password), 0o600); err != nil {
		return err
	}
	variables := map[string]string{"VSPHERE_USERNAME": username, "VSPHERE_PASSWORD": password, "EXP_NODE_ANTI_AFFINITY": "true"}
	args := []string{"--credentials-file=" + credentials, "--leader-elect=true"}
	v.upstream = managementcluster.Component{
		Name: binaries.UpstreamVSphere, Program: programs[binaries.UpstreamVSphere], Version: version,
		Config: filepath.Join(folder, "config", "default"), Variables: variables, Args: args, InPod: true,
	}
	v.ours = managementcluster.Provider(programs, builder.Root, vsphere.Provider{}.Describe().Name)
	maps.Copy(v.ours.Variables, variables)
	v.ours.Args = append(v.ours.Args, append(args, managementcluster.KubeadmVersion(clusterAPI))...)
	return nil
}

func (v *vSphere) close() {
	v.environment.close()
	if v.VCenter != nil {
		v.VCenter.Close()
	}
}
