// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/offline"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/tool"
)

// manager is a manager of Cluster API.
type manager struct {
	program string
	image   string // its name without registry and version
	name    string // its name in clusterctl
	kind    string
	folder  string // in the module
}

func (e *Environment) clusterAPIManagers() []manager {
	return []manager{
		{binaries.CAPICore, "cluster-api-controller", "cluster-api", release.Core, binaries.CAPICoreFolder(e.builder.CAPI)},
		{binaries.CAPIKubeadmBootstrap, "kubeadm-bootstrap-controller", "kubeadm", release.Bootstrap, "bootstrap/kubeadm"},
		{binaries.CAPIKubeadmControlPlane, "kubeadm-control-plane-controller", "kubeadm", release.ControlPlane, "controlplane/kubeadm"},
	}
}

func (e *Environment) createCluster(ctx context.Context, log io.Writer) error {
	return e.cluster(log).Ensure(ctx)
}

func (e *Environment) loadImages(ctx context.Context, log io.Writer) error {
	loaded, err := LoadImages(ctx, e.docker(log), e.cluster(log).Node(), e.found.images...)
	if err != nil || len(loaded) == 0 {
		return err
	}
	return e.restart(ctx, log, loaded)
}

// restart deletes the pods whose image was loaded again: the image's name is unchanged, so nothing else restarts them.
func (e *Environment) restart(ctx context.Context, log io.Writer, images []string) error {
	pods, err := e.kubectl(ctx, log, "get", "pods", "--all-namespaces", "--output",
		`jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.containers[*].image}{"\n"}{end}`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(pods) {
		words := strings.Fields(line)
		if len(words) < 3 || !slices.ContainsFunc(words[2:], func(w string) bool { return slices.Contains(images, w) }) {
			continue
		}
		if _, err := e.kubectl(ctx, log, "delete", "pod", "--namespace", words[0], words[1]); err != nil {
			return err
		}
	}
	return nil
}

// writeRepository writes the repository that clusterctl installs from.
func (e *Environment) writeRepository(ctx context.Context, log io.Writer) error {
	capi, version, err := e.builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	var providers []release.Provider
	for _, m := range e.clusterAPIManagers() {
		providers = append(providers, release.Provider{
			Name: m.name, Type: m.kind, Version: version,
			Config: filepath.Join(capi, m.folder, "config", "default"), Metadata: filepath.Join(capi, "metadata.yaml"),
		})
	}
	for _, p := range e.Providers {
		name := p.Describe().Name
		image, err := e.managerImage(name)
		if err != nil {
			return err
		}
		providers = append(providers, release.Provider{
			Name: name, Type: release.Infrastructure, Version: image[strings.LastIndex(image, ":")+1:],
			Config: e.config(name), Metadata: filepath.Join(e.builder.Root, "providers", name, "metadata.yaml"),
			Templates:    filepath.Join(e.builder.Root, "templates", name),
			NameTemplate: p.Describe().Plain, // the specs need failure domains
			FitTemplate:  func(template []byte) ([]byte, error) { return p.FitTemplate(template, e.Kind(log)) },
		})
	}
	certManager, err := e.certManager(ctx)
	if err != nil {
		return err
	}
	r := e.repository()
	r.CAPIImages, r.Variables = version, e.found.variables
	e.found.providers = providers
	if e.Upstream {
		if err := e.preferUpstream(ctx, r); err != nil {
			return err
		}
	}
	return r.Write(providers, certManager)
}

// certManager returns nil if clusterctl can download its default cert-manager.
func (e *Environment) certManager(ctx context.Context) (*release.CertManager, error) {
	if e.found.published {
		return nil, nil
	}
	source, version, err := e.builder.CertManager(ctx)
	if err != nil {
		return nil, err
	}
	manifest, err := offline.CertManagerManifest(source, version, binaries.KubernetesVersion)
	return &release.CertManager{Version: version, Manifest: manifest}, err
}

// install installs what is missing with clusterctl. A provider of ours that is already installed gets the current manifests, so that
// changes take effect.
func (e *Environment) install(ctx context.Context, log io.Writer) error {
	present, err := e.installed(ctx, log)
	if err != nil {
		return err
	}
	args := []string{"init", "--wait-providers"}
	for _, p := range e.found.providers {
		switch {
		case !slices.Contains(present, p.Label()):
			args = append(args, "--"+p.Role(), p.Name+":"+p.Version)
		case p.Type == release.Infrastructure:
			if err := e.apply(ctx, log, p); err != nil {
				return err
			}
		}
	}
	if len(args) > 2 {
		if _, err := e.clusterctl(ctx, log, args...); err != nil {
			return err
		}
	}
	_, err = e.kubectl(ctx, log, "wait", "--for=condition=Available", "deployment", "--all", "--all-namespaces", "--timeout=3m")
	return err
}

// installed returns the labels of the installed providers.
func (e *Environment) installed(ctx context.Context, log io.Writer) ([]string, error) {
	out, err := e.kubectl(ctx, log, "get", "crd", "providers.clusterctl.cluster.x-k8s.io", "--ignore-not-found", "--output", "name")
	if err != nil || strings.TrimSpace(out) == "" {
		return nil, err
	}
	out, err = e.kubectl(ctx, log, "get", "providers.clusterctl.cluster.x-k8s.io", "--all-namespaces",
		"--output", "jsonpath={.items[*].metadata.name}")
	return strings.Fields(out), err
}

// apply updates an installed provider to the repository's manifests.
func (e *Environment) apply(ctx context.Context, log io.Writer, p release.Provider) error {
	components, err := e.clusterctl(ctx, log, "generate", "provider", "--"+p.Role(), p.Name+":"+p.Version)
	if err != nil {
		return err
	}
	return e.applyManifest(ctx, log, strings.NewReader(components))
}

func (e *Environment) applyManifest(ctx context.Context, log io.Writer, manifest io.Reader) error {
	return tool.Runner{Log: log}.Stream(ctx, tool.Streams{In: manifest}, e.Program(binaries.Kubectl),
		"--kubeconfig", e.Kubeconfig(), "apply", "--server-side", "--force-conflicts", "--filename", "-")
}

func (e *Environment) clusterctl(ctx context.Context, log io.Writer, args ...string) (string, error) {
	// Not every command of clusterctl has a flag for the kubeconfig.
	run := tool.Runner{Log: log, Env: []string{"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "KUBECONFIG=" + e.Kubeconfig()}}
	return run.Run(ctx, e.Program(binaries.Clusterctl), append(args, "--config", e.ClusterctlConfig())...)
}

func (e *Environment) kubectl(ctx context.Context, log io.Writer, args ...string) (string, error) {
	return tool.Runner{Log: log}.Run(ctx, e.Program(binaries.Kubectl), append([]string{"--kubeconfig", e.Kubeconfig()}, args...)...)
}
