// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// tokenSeconds is the validity of a manager's token, longer than any demo runs.
	tokenSeconds = 7 * 24 * 60 * 60
	createAtOnce = 8
	// startLimit bounds the start of the whole cluster.
	startLimit = 2 * time.Minute
)

// manager is a component that is being prepared to run as a process.
type manager struct {
	component   Component
	manifests   manifests
	webhook     int
	health      int
	diagnostics int
}

// prepare renders a component and allocates the ports of its manager.
func (p *Cluster) prepare(c Component) (manager, error) {
	rendered, err := render(c.Config, c.Variables)
	if err != nil {
		return manager{}, fmt.Errorf("preparing %s: %w", c.Name, err)
	}
	for _, object := range c.Objects {
		// Another cluster may use the same component.
		rendered.objects = append(rendered.objects, object.DeepCopy())
	}
	if c.Deployment {
		deployment, err := withoutReplicas(rendered.deployment, c.Version)
		if err != nil {
			return manager{}, fmt.Errorf("preparing %s: %w", c.Name, err)
		}
		rendered.objects = append(rendered.objects, deployment...)
	}
	m := manager{component: c, manifests: rendered}
	for _, port := range []*int{&m.webhook, &m.health, &m.diagnostics} {
		if *port, err = p.port(); err != nil {
			return manager{}, err
		}
	}
	for _, object := range rendered.objects {
		if err := redirect(object, address(m.webhook), p.authority.pem); err != nil {
			return manager{}, fmt.Errorf("preparing %s: %w", c.Name, err)
		}
	}
	return m, nil
}

// install creates the objects of all components, starts kube-controller-manager, and waits until both it and the API server have made the
// objects effective.
func (p *Cluster) install(ctx context.Context, managers []manager) error {
	err := eachObject(managers, func(object *unstructured.Unstructured) error { return p.Client.Create(ctx, object) })
	if err != nil {
		return err
	}
	if err := p.startControllerManager(ctx); err != nil {
		return err
	}
	if err := wait.PollUntilContextCancel(ctx, readyEvery, true, p.effective); err != nil {
		return fmt.Errorf("waiting for CRDs to be established and roles to be aggregated: %w (logs: %s)", err, p.Logs())
	}
	return nil
}

// eachObject calls write for the namespaces of all components, and then for all other objects.
func eachObject(managers []manager, write func(*unstructured.Unstructured) error) error {
	for _, namespaces := range []bool{true, false} {
		var group errgroup.Group
		group.SetLimit(createAtOnce)
		for _, m := range managers {
			for _, object := range m.manifests.objects {
				if (object.GetKind() == "Namespace") != namespaces {
					continue
				}
				group.Go(func() error {
					if err := write(object); err != nil {
						return fmt.Errorf("installing %s %s of %s: %w", object.GetKind(), object.GetName(), m.component.Name, err)
					}
					return nil
				})
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// effective reports whether all CRDs are served and all aggregated roles have rules. A manager that starts before that finds its API
// missing or forbidden, and backs off.
func (p *Cluster) effective(ctx context.Context) (bool, error) {
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := p.Client.List(ctx, &crds); err != nil {
		return false, err
	}
	for _, crd := range crds.Items {
		if !apihelpers.IsCRDConditionTrue(&crd, apiextensionsv1.Established) {
			return false, nil
		}
	}
	var roles rbacv1.ClusterRoleList
	if err := p.Client.List(ctx, &roles, client.HasLabels{providerLabel}); err != nil {
		return false, err
	}
	for _, role := range roles.Items {
		if role.AggregationRule != nil && len(role.Rules) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// run starts a manager as its ServiceAccount and waits until it and its webhooks are ready.
func (p *Cluster) run(ctx context.Context, m manager) error {
	name := m.component.Name
	dir := filepath.Join(p.dir, name)
	serving, err := p.authority.serving(name)
	if err != nil {
		return err
	}
	if err := serving.write(dir); err != nil {
		return fmt.Errorf("writing the certificate of %s: %w", name, err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := p.writeAccountKubeconfig(ctx, m, kubeconfig); err != nil {
		return fmt.Errorf("preparing %s: %w", name, err)
	}
	args, env, err := m.listen(dir)
	if err != nil {
		return fmt.Errorf("preparing %s: %w", name, err)
	}
	run := command{
		name: name, program: m.component.Program, args: slices.Concat(m.manifests.args, args, m.component.Args),
		env: append(env,
			"KUBECONFIG="+kubeconfig,
			"POD_NAMESPACE="+m.manifests.account.Namespace, "POD_NAME="+name, "POD_UID="+name),
		metrics: "http://" + address(m.diagnostics) + "/metrics", health: "http://" + address(m.health) + "/readyz",
	}
	if m.component.InPod {
		run = inPod(run)
	}
	ready, err := p.launch(ctx, run)
	if err != nil {
		return err
	}
	if err := ready(ctx); err != nil {
		return err
	}
	return reports(p.log(name), m.component.Version)
}

// listen returns the arguments that make a manager serve on this cluster. They come after those of a release and before the component's
// own: later arguments override earlier ones.
func (m manager) listen(dir string) (args, env []string, err error) {
	at := Endpoints{Webhook: m.webhook, Certificates: dir, Health: address(m.health), Diagnostics: address(m.diagnostics)}
	if m.component.Listen != nil {
		return m.component.Listen(at)
	}
	return []string{
		"--leader-elect=false",
		"--webhook-port=" + strconv.Itoa(at.Webhook),
		"--webhook-cert-dir=" + at.Certificates,
		cmp.Or(m.component.HealthArg, "--health-addr") + "=" + at.Health,
		"--diagnostics-address=" + at.Diagnostics,
		"--insecure-diagnostics",
	}, nil, nil
}

// writeAccountKubeconfig writes a kubeconfig for the manager's ServiceAccount.
func (p *Cluster) writeAccountKubeconfig(ctx context.Context, m manager, path string) error {
	account := m.manifests.account
	token := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))},
	}
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	if err := p.Client.SubResource("token").Create(ctx, object, token); err != nil {
		return fmt.Errorf("requesting a token of ServiceAccount %s: %w", account, err)
	}
	config := rest.AnonymousClientConfig(p.RESTConfig)
	if between := m.component.APIServerFaults; between != nil {
		p.mutex.Lock()
		p.fronts = append(p.fronts, between)
		p.mutex.Unlock()
		var err error
		if config, err = between.between(ctx, p.RESTConfig); err != nil {
			return fmt.Errorf("starting the proxy of the API server: %w", err)
		}
	}
	config.BearerToken = token.Status.Token
	return writeKubeconfig(path, config)
}

// reports verifies the version that a manager logged when it started.
func reports(log, version string) error {
	if version == "" {
		return nil
	}
	content, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte("Version: "+version+" ")) {
		return errors.New("checking versions: the manager does not report " + version + " in " + log)
	}
	return nil
}
