// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the real programs that the demo and the
// integration tests run: etcd, the Kubernetes control plane, the Cluster API
// managers and the managers of our providers. It downloads what is published
// where that can be reached, and builds the rest from Go modules, so that Go is
// all a machine needs. Programs of others are made once for all clones of the
// repository on a machine.
package binaries

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/tool"
)

// AssetsVariable names a folder of ready etcd, kube-apiserver, kube-scheduler and
// kubectl programs. What is found there is used and not built.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// CAPIVariable names the version of Cluster API to build instead of the one that the repository is made for, such as v1.13.6.
const CAPIVariable = "FAULTLINE_CAPI"

// CAPVVariable names the release of upstream's provider for vSphere to build instead of the usual one: v1.16.1, which is for Cluster
// API's contract v1beta2.
const CAPVVariable = "FAULTLINE_CAPV"

// CAPM3Variable names the folder of a checkout of upstream's provider for metal3, which is not to be had as a module.
const CAPM3Variable = "FAULTLINE_CAPM3"

// ReleaseVariable and CommitVariable have the managers, the load balancer and the cloud provider report what they are built from.
const (
	ReleaseVariable = "FAULTLINE_RELEASE"
	CommitVariable  = "FAULTLINE_COMMIT"
)

// versionPackage has the variables that the linker sets.
const versionPackage = "github.com/faultline-io/faultline/shared/version"

// Names of the programs that can be asked for, besides those of Provider and of package programs.
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
	// MachineInit makes a container look like a virtual machine to what boots in it.
	MachineInit = "machine-init"
	// LoadBalancer runs on Harvester, and CloudProvider in clusters on it.
	LoadBalancer  = "harvester-load-balancer"
	CloudProvider = "harvester-cloud-provider"
	// UpstreamVSphere is the manager of Cluster API Provider vSphere, from which ours takes over.
	UpstreamVSphere = "upstream-vsphere"
	// UpstreamMetal3 is the manager of Cluster API Provider Metal3; Builder.UpstreamMetal3 provides it.
	UpstreamMetal3 = "upstream-metal3"
	// InClusterIPAM is the manager of Cluster API's IPAM provider whose pools are objects of the cluster.
	InClusterIPAM = "in-cluster-ipam"

	providerPrefix        = "infrastructure-"
	cacheFolder           = ".cache/bin"
	clusterAPIModule      = "sigs.k8s.io/cluster-api"
	clusterAPIBuildFolder = "e2e/build/clusterapi"
	upstreamVSphereModule = "sigs.k8s.io/cluster-api-provider-vsphere"
	inClusterIPAMModule   = "sigs.k8s.io/cluster-api-ipam-provider-in-cluster"
	inClusterIPAMFolder   = "e2e/build/ipam"
)

// KubernetesVersion is the version of Kubernetes that is run, and EtcdVersion that of etcd. What is built says the same.
const (
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.14"
)

// Provider is the name of the manager program of the provider in
// providers/<name>. It is its clusterctl name too.
func Provider(name string) string { return providerPrefix + name }

// Assets are the programs that controller-runtime's envtest needs, and the scheduler of the simulated Harvester.
func Assets() []string { return []string{Etcd, APIServer, Scheduler, Kubectl} }

// DefaultProvider is the provider that a command is about which names none, as in the Makefile.
const DefaultProvider = "vsphere"

// Demo are the programs that a management cluster with one provider needs,
// kubectl included for the person who looks around in it.
func Demo(provider string) []string {
	return []string{
		Etcd, APIServer, ControllerManager, Kubectl,
		CAPICore, CAPIKubeadmBootstrap, CAPIKubeadmControlPlane, Provider(provider),
	}
}

// Paths maps the name of a program to the file that runs it.
type Paths map[string]string

// Builder finds or builds programs. Several builders, also in several
// processes, may work on one cache at a time.
type Builder struct {
	// Root is the root folder of the repository.
	Root string
	// Assets is a folder of ready programs of Kubernetes and etcd that are preferred
	// to built ones; "" means none.
	Assets string
	// Cache is the folder for programs of others, which all clones share.
	Cache string
	// Source says whether those are downloaded or built.
	Source tool.Source
	// CAPI is the version of Cluster API whose managers are built; "" is the one that the repository is made for.
	CAPI string
	// CAPV is the release of upstream's provider for vSphere; "" is the usual one.
	CAPV string
	// CAPM3 is the folder of a checkout of upstream's provider for metal3; "" is none.
	CAPM3 string
	// Progress receives a line for each thing that takes time.
	Progress io.Writer

	sites  *sites // other than the public ones
	mutex  sync.Mutex
	silent map[string]bool // the sites that did not answer
}

// New returns a builder for the repository that the working directory belongs
// to. It honours KUBEBUILDER_ASSETS, FAULTLINE_CACHE, FAULTLINE_BINARIES, FAULTLINE_CAPI, FAULTLINE_CAPV and
// FAULTLINE_CAPM3.
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
	from, err := tool.ParseSource(os.Getenv(SourceVariable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", SourceVariable, err)
	}
	return &Builder{
		Root: root, Assets: os.Getenv(AssetsVariable), Cache: cache, Source: from, Progress: progress,
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

// Dir is the clone's folder of programs: those built from its sources, and links to those that all clones share.
func (b *Builder) Dir() string { return filepath.Join(b.Root, filepath.FromSlash(cacheFolder)) }

// AssetsDir is the folder to give to envtest as KUBEBUILDER_ASSETS: the one
// that was given to the builder if it is complete, else the cache, where Ensure
// links what the former has: envtest's archives have no scheduler.
func (b *Builder) AssetsDir() string {
	for _, name := range Assets() {
		if b.asset(name) == "" {
			return b.Dir()
		}
	}
	return b.Assets
}

// given is the path of a ready program, "" when there is none. One of a folder that lacks others is linked where those are made.
func (b *Builder) given(name string) (string, error) {
	path := b.asset(name)
	if path == "" || b.AssetsDir() == b.Assets {
		return path, nil
	}
	return path, b.link(name, path)
}

// asset is the path of a ready program, "" when there is none. Only programs of
// Kubernetes and etcd count: others in that folder may be those of last week. The
// cache itself is no such folder, as it knows better what is up to date.
func (b *Builder) asset(name string) string {
	if b.Assets == "" || filepath.Clean(b.Assets) == b.Dir() || !slices.Contains(append(Assets(), ControllerManager), name) {
		return ""
	}
	path := filepath.Join(b.Assets, name)
	if !executable(path) {
		return ""
	}
	return path
}

// Ensure returns the path of every named program, after making those that are missing or belong to other sources or another Go
// than now. A program that another process is making is waited for last.
func (b *Builder) Ensure(ctx context.Context, names ...string) (Paths, error) {
	t, err := b.toolchain(ctx)
	if err != nil {
		return nil, err
	}
	paths := Paths{}
	var wanted []program
	for _, name := range names {
		if path, err := b.given(name); err != nil {
			return nil, err
		} else if path != "" {
			paths[name] = path
			continue
		}
		r, err := b.recipe(name)
		if err != nil {
			return nil, err
		}
		p, err := b.program(r, t)
		if err != nil {
			return nil, err
		}
		paths[name] = p.path
		wanted = append(wanted, p)
	}
	return paths, b.makeMissing(ctx, wanted, t)
}

// makeMissing makes the programs that are not ready, one after the other, as each build keeps all cores busy.
func (b *Builder) makeMissing(ctx context.Context, wanted []program, t toolchain) error {
	var busy []program
	for _, p := range wanted {
		if p.ready() {
			continue
		}
		done, err := b.make(ctx, p, t, false)
		if err != nil {
			return err
		}
		if !done {
			busy = append(busy, p)
		}
	}
	for _, p := range busy {
		if _, err := b.make(ctx, p, t, true); err != nil {
			return err
		}
	}
	for _, p := range wanted {
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

// ClusterAPI is the source folder of the Cluster API version that the managers
// are built from: its CRDs, RBAC rules and webhook manifests are there.
func (b *Builder) ClusterAPI(ctx context.Context) (dir, version string, err error) {
	if b.CAPI != "" {
		return b.published(ctx, clusterAPIModule, b.CAPI)
	}
	return b.source(ctx, clusterAPIBuildFolder, clusterAPIModule)
}

// Upstream is the source folder of the provider that ours takes over from, where its CRDs, RBAC rules and webhook manifests are.
func (b *Builder) Upstream(ctx context.Context) (dir, version string, err error) {
	dir, version, err = b.source(ctx, upstreamVSphereFolder(b.CAPV), upstreamVSphereModule)
	if err == nil && b.CAPV != "" && b.CAPV != version {
		err = fmt.Errorf("%s is %s: leave it out or choose %s", CAPVVariable, b.CAPV, version)
	}
	return dir, version, err
}

// InClusterIPAM is the source folder of that provider, where its CRDs, RBAC rules and webhook manifests are.
func (b *Builder) InClusterIPAM(ctx context.Context) (dir string, err error) {
	dir, _, err = b.source(ctx, inClusterIPAMFolder, inClusterIPAMModule)
	return dir, err
}

// CertManager is the source folder of the cert-manager that is built, where its
// chart and its CRDs are.
func (b *Builder) CertManager(ctx context.Context) (dir, version string, err error) {
	return b.source(ctx, programs.CertManagerFolder, programs.CertManagerModule)
}

// KubeVIP is the version of the kube-vip that is built.
func (b *Builder) KubeVIP(ctx context.Context) (version string, err error) {
	_, version, err = b.source(ctx, programs.KubeVIPFolder, programs.KubeVIPModule)
	return version, err
}

// Kind is the source folder of kind, where the files of a node are.
func (b *Builder) Kind(ctx context.Context) (dir, version string, err error) {
	return b.source(ctx, "e2e", "sigs.k8s.io/kind")
}

// published is the folder of a module's version, whatever the repository requires.
func (b *Builder) published(ctx context.Context, module, version string) (dir, found string, err error) {
	out, err := b.goCommand(ctx, "e2e", "mod", "download", "-json", module+"@"+version)
	var known struct{ Dir, Version string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &known)
	}
	if err != nil {
		return "", "", fmt.Errorf("downloading %s@%s: %w\n%s", module, version, err, out)
	}
	return known.Dir, known.Version, nil
}

// source is the folder and the version of a module that the module in a folder of
// the repository requires.
func (b *Builder) source(ctx context.Context, folder, module string) (dir, version string, err error) {
	out, err := b.goCommand(ctx, folder, "mod", "download", module)
	if err != nil {
		return "", "", fmt.Errorf("downloading %s: %w\n%s", module, err, out)
	}
	out, err = b.goCommand(ctx, folder, "list", "-m", "-f", "{{.Dir}}\t{{.Version}}", module)
	if err != nil {
		return "", "", fmt.Errorf("locating %s: %w\n%s", module, err, out)
	}
	dir, version, ok := strings.Cut(strings.TrimSpace(out), "\t")
	if !ok || dir == "" {
		return "", "", fmt.Errorf("locating %s: unexpected answer %q", module, out)
	}
	return dir, version, nil
}
