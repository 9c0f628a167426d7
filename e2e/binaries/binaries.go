// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the real programs that the demo and the integration tests run: etcd, the Kubernetes control plane, the
// Cluster API managers and the managers of our providers. It builds them from Go modules, so Go is the only prerequisite. Third-party
// programs are built once for all clones of the repository on a machine.
package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/faultline-io/faultline/e2e/offline/programs"
)

// AssetsVariable names a folder with etcd, kube-apiserver, kube-scheduler and kubectl programs. Programs that are found there are used
// instead of built.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// CAPIVariable names the version of Cluster API to build instead of the repository's version, such as v1.13.6.
const CAPIVariable = "FAULTLINE_CAPI"

// CAPVVariable names the release of upstream's vSphere provider to build instead of the default: v1.16.1, which is for Cluster API's
// v1beta2 contract.
const CAPVVariable = "FAULTLINE_CAPV"

// CAPM3Variable names the folder of a checkout of upstream's metal3 provider, which is not available as a module.
const CAPM3Variable = "FAULTLINE_CAPM3"

// ReleaseVariable and CommitVariable set the release and commit that the managers, the load balancer and the cloud provider report.
const (
	ReleaseVariable = "FAULTLINE_RELEASE"
	CommitVariable  = "FAULTLINE_COMMIT"
)

// versionPackage has the variables that the linker sets.
const versionPackage = "github.com/faultline-io/faultline/shared/version"

// Names of programs, in addition to those of Provider and of package programs.
const (
	Etcd                    = programs.Etcd
	APIServer               = programs.APIServer
	ControllerManager       = programs.ControllerManager
	Scheduler               = programs.Scheduler
	Kubectl                 = programs.Kubectl
	GolangciLint            = "golangci-lint"
	CAPICore                = "capi-core"
	CAPIKubeadmBootstrap    = "capi-bootstrap-kubeadm"
	CAPIKubeadmControlPlane = "capi-controlplane-kubeadm"
	Clusterctl              = "clusterctl"
	// MachineInit makes a container look like a virtual machine to the programs that boot in it.
	MachineInit = "machine-init"
	// LoadBalancer runs on Harvester, and CloudProvider in clusters on it.
	LoadBalancer  = "harvester-load-balancer"
	CloudProvider = "harvester-cloud-provider"
	// UpstreamVSphere is the manager of Cluster API Provider vSphere that ours takes over from.
	UpstreamVSphere = "upstream-vsphere"
	// UpstreamMetal3 is the manager of Cluster API Provider Metal3; Builder.UpstreamMetal3 provides it.
	UpstreamMetal3 = "upstream-metal3"
	// InClusterIPAM is the manager of Cluster API's in-cluster IPAM provider.
	InClusterIPAM = "in-cluster-ipam"

	providerPrefix        = "infrastructure-"
	cacheFolder           = ".cache/bin"
	clusterAPIModule      = "sigs.k8s.io/cluster-api"
	clusterAPIBuildFolder = "e2e/build/clusterapi"
	upstreamVSphereModule = "sigs.k8s.io/cluster-api-provider-vsphere"
	inClusterIPAMModule   = "sigs.k8s.io/cluster-api-ipam-provider-in-cluster"
	inClusterIPAMFolder   = "e2e/build/ipam"
)

// KubernetesVersion and EtcdVersion are the versions that are run.
const (
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.14"
)

// Provider returns the name of the manager program of the provider in providers/<name>, which is also its clusterctl name.
func Provider(name string) string { return providerPrefix + name }

// Assets returns the programs that controller-runtime's envtest needs, and the scheduler of the simulated Harvester.
func Assets() []string { return []string{Etcd, APIServer, Scheduler, Kubectl} }

// DefaultProvider is the provider of commands that name none, as in the Makefile.
const DefaultProvider = "vsphere"

// Demo returns the programs that a management cluster with one provider needs, including kubectl for the user.
func Demo(provider string) []string {
	return []string{
		Etcd, APIServer, ControllerManager, Kubectl,
		CAPICore, CAPIKubeadmBootstrap, CAPIKubeadmControlPlane, Provider(provider),
	}
}

// Paths maps the name of a program to its executable.
type Paths map[string]string

// Builder finds or builds programs. Several builders, including ones in other processes, may use one cache at the same time.
type Builder struct {
	// Root is the root folder of the repository.
	Root string
	// Assets is a folder of existing Kubernetes and etcd programs that are preferred to built ones; "" means none.
	Assets string
	// Cache is the folder for third-party programs, shared by all clones.
	Cache string
	// CAPI is the version of Cluster API whose managers are built; "" means the repository's version.
	CAPI string
	// CAPV is the release of upstream's vSphere provider; "" means the default.
	CAPV string
	// CAPM3 is the folder of a checkout of upstream's metal3 provider; "" means none.
	CAPM3 string
	// Progress receives a line for each step that takes time.
	Progress io.Writer
}

// New returns a builder for the repository of the working directory. It honours KUBEBUILDER_ASSETS, FAULTLINE_CACHE, FAULTLINE_CAPI,
// FAULTLINE_CAPV and FAULTLINE_CAPM3.
func New(progress io.Writer) (*Builder, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := findRoot(wd)
	if err != nil {
		return nil, err
	}
	cache, err := sharedCache(root)
	if err != nil {
		return nil, err
	}
	return &Builder{
		Root: root, Assets: os.Getenv(AssetsVariable), Cache: cache, Progress: progress,
		CAPI: os.Getenv(CAPIVariable), CAPV: os.Getenv(CAPVVariable), CAPM3: os.Getenv(CAPM3Variable),
	}, nil
}

// findRoot walks up from dir to the folder that holds go.work.
func findRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.work")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("finding the repository: no go.work in %s or above it", dir)
		}
	}
}

// Dir returns the clone's folder of programs: those built from its sources, and links to the shared ones and to those of Assets. After
// Ensure it can be passed to envtest as KUBEBUILDER_ASSETS.
func (b *Builder) Dir() string { return filepath.Join(b.Root, filepath.FromSlash(cacheFolder)) }

// asset returns the path of an existing program in Assets, or "". Only programs of Kubernetes and etcd count: others in that folder may
// be outdated. The clone's own folder does not count as Assets, because the builder tracks which programs in it are up to date.
func (b *Builder) asset(name string) string {
	if b.Assets == "" || !slices.Contains(append(Assets(), ControllerManager), name) {
		return ""
	}
	path := filepath.Join(b.Assets, name)
	if !executable(path) || sameFolder(b.Assets, b.Dir()) {
		return ""
	}
	return path
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	second, missing := os.Stat(b)
	return err == nil && missing == nil && os.SameFile(first, second)
}

// Ensure returns the path of every named program. It first makes the programs that are missing or were made from other sources or by
// another Go version, and waits for those that another process is making.
func (b *Builder) Ensure(ctx context.Context, names ...string) (Paths, error) {
	toolchain, err := b.toolchain(ctx)
	if err != nil {
		return nil, err
	}
	paths := Paths{}
	var wanted []program
	for _, name := range names {
		if path := b.asset(name); path != "" {
			if err := b.link(name, path); err != nil {
				return nil, err
			}
			paths[name] = path
			continue
		}
		r, err := b.recipe(name)
		if err != nil {
			return nil, err
		}
		p, err := b.program(r, toolchain)
		if err != nil {
			return nil, err
		}
		paths[name] = p.path
		wanted = append(wanted, p)
	}
	return paths, b.makeMissing(ctx, wanted)
}

// makeMissing makes the missing programs one after the other, because each build keeps all cores busy.
func (b *Builder) makeMissing(ctx context.Context, wanted []program) error {
	for _, p := range wanted {
		if !p.ready() {
			if err := b.make(ctx, p); err != nil {
				return err
			}
		}
		if p.Ours {
			continue
		}
		if err := b.link(p.Name, p.path); err != nil {
			return err
		}
		b.used(p)
	}
	return nil
}

// ClusterAPI returns the source folder of the Cluster API version that the managers are built from, with its CRDs, RBAC rules and webhook
// manifests.
func (b *Builder) ClusterAPI(ctx context.Context) (dir, version string, err error) {
	if b.CAPI != "" {
		return b.module("e2e").Download(ctx, clusterAPIModule+"@"+b.CAPI)
	}
	return b.module(clusterAPIBuildFolder).Download(ctx, clusterAPIModule)
}

// Upstream returns the source folder of upstream's vSphere provider, with its CRDs, RBAC rules and webhook manifests.
func (b *Builder) Upstream(ctx context.Context) (dir, version string, err error) {
	dir, version, err = b.module(upstreamVSphereFolder(b.CAPV)).Download(ctx, upstreamVSphereModule)
	if err == nil && b.CAPV != "" && b.CAPV != version {
		err = fmt.Errorf("%s is %s: it must be unset or %s", CAPVVariable, b.CAPV, version)
	}
	return dir, version, err
}

// InClusterIPAM returns the source folder of the in-cluster IPAM provider, with its CRDs, RBAC rules and webhook manifests.
func (b *Builder) InClusterIPAM(ctx context.Context) (dir string, err error) {
	dir, _, err = b.module(inClusterIPAMFolder).Download(ctx, inClusterIPAMModule)
	return dir, err
}

// CertManager returns the source folder of the cert-manager that is built, with its chart and CRDs.
func (b *Builder) CertManager(ctx context.Context) (dir, version string, err error) {
	return b.module(programs.CertManagerFolder).Download(ctx, programs.CertManagerModule)
}

// KubeVIP returns the version of the kube-vip that is built.
func (b *Builder) KubeVIP(ctx context.Context) (version string, err error) {
	_, version, err = b.module(programs.KubeVIPFolder).Download(ctx, programs.KubeVIPModule)
	return version, err
}

// Kind returns the source folder of kind, with the files of a node.
func (b *Builder) Kind(ctx context.Context) (dir, version string, err error) {
	return b.module("e2e").Download(ctx, "sigs.k8s.io/kind")
}
