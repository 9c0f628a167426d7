// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/shared/ports"
)

// readyEvery is the poll interval for a starting server's readiness.
const readyEvery = 50 * time.Millisecond

// controllers lists the controllers of kube-controller-manager that Cluster API relies on. The others have nothing to do in a cluster
// without pods and nodes.
const controllers = "namespace-controller,garbage-collector-controller,serviceaccount-controller,clusterrole-aggregation-controller"

// startAPIServer starts etcd and kube-apiserver, waits until they serve, and returns the administrator's configuration.
func (p *Cluster) startAPIServer(ctx context.Context, further []string) (*rest.Config, error) {
	etcd, err := p.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	port, err := p.port()
	if err != nil {
		return nil, err
	}
	args, err := p.apiServerArgs(port, etcd)
	if err != nil {
		return nil, err
	}
	admin, err := p.authority.client("faultline-admin", "system:masters")
	if err != nil {
		return nil, err
	}
	config := &rest.Config{
		Host:            "https://" + address(port),
		TLSClientConfig: rest.TLSClientConfig{CAData: p.authority.pem, CertData: admin.certificate, KeyData: admin.key},
		// The API server has no other users, so no rate limit is needed.
		QPS: -1,
	}
	server, err := p.start(ctx, command{name: binaries.APIServer, args: append(args, further...)})
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return config, ready(ctx, server, client, config.Host+"/readyz")
}

func (p *Cluster) startEtcd(ctx context.Context) (url string, err error) {
	clients, err := p.port()
	if err != nil {
		return "", err
	}
	peers, err := p.port()
	if err != nil {
		return "", err
	}
	url = "http://" + address(clients)
	etcd, err := p.start(ctx, command{name: binaries.Etcd, args: []string{
		"--data-dir=" + filepath.Join(p.dir, "etcd"),
		"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
		"--listen-peer-urls=http://" + address(peers),
		// The data of a demo need not survive a power loss.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}})
	if err != nil {
		return "", err
	}
	return url, ready(ctx, etcd, http.DefaultClient, url+"/health")
}

func (p *Cluster) apiServerArgs(port int, etcd string) ([]string, error) {
	serving, err := p.authority.serving(binaries.APIServer)
	if err != nil {
		return nil, err
	}
	accounts, err := p.authority.serving("service-accounts")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(p.dir, "pki")
	if err := serving.write(dir); err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.accountKey(), accounts.key, 0o600); err != nil {
		return nil, err
	}
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, p.authority.pem, 0o600); err != nil {
		return nil, err
	}
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=" + ports.Host, "--advertise-address=" + ports.Host,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + filepath.Join(dir, "tls.crt"),
		"--tls-private-key-file=" + filepath.Join(dir, "tls.key"),
		"--client-ca-file=" + ca,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + p.accountKey(),
		"--service-account-key-file=" + p.accountKey(),
		"--service-cluster-ip-range=10.0.0.0/24",
		// The Service "kubernetes" would need an address that is not loopback.
		"--endpoint-reconciler-type=none",
		"--profiling=false",
	}, nil
}

func (p *Cluster) accountKey() string { return filepath.Join(p.dir, "pki", "service-accounts.key") }

// startControllerManager must be called once the CRDs exist: the garbage collector discovers kinds when it starts and then only every 30
// seconds.
func (p *Cluster) startControllerManager(ctx context.Context) error {
	_, err := p.start(ctx, command{name: binaries.ControllerManager, args: []string{
		"--kubeconfig=" + p.Kubeconfig,
		"--controllers=" + controllers,
		"--service-account-private-key-file=" + p.accountKey(),
		"--leader-elect=false",
		"--secure-port=0",
	}})
	return err
}

// ready waits until a GET of url returns 200. It stops waiting when the process or ctx ends.
func ready(ctx context.Context, p *process, client *http.Client, url string) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, readyEvery, false, func(ctx context.Context) (bool, error) {
		select {
		case <-p.ended:
			return true, p.failure()
		default:
		}
		last = get(ctx, client, url)
		return last == nil, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("waiting for %s: %w (last answer: %w; log: %s)", p.name, context.Cause(ctx), last, p.log)
	}
	return err
}

func get(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	body, err := tool.Get(ctx, client, url)
	if err != nil {
		return err
	}
	return body.Close()
}
