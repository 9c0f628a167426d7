// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader reads the kubeconfig Secrets of Clusters for code that creates connections itself, such as Cluster API's cluster cache.
// That code accepts no transport. Therefore the kubeconfig that it gets has no credentials, and a server with a private scheme
// for which http.DefaultTransport sends requests to the Reader. Get returns an error for a Secret that Rules.Parse rejects.
type Reader struct {
	client.Reader

	rules   Rules
	refused func(cluster client.ObjectKey, why error)
	number  string

	mu    sync.Mutex
	known map[client.ObjectKey]*workload // by Cluster
}

// workload is the state of a Cluster's kubeconfig.
type workload struct {
	server    *url.URL
	transport http.RoundTripper
	why       string // why it is rejected
}

// NewReader returns a Reader that reads Secrets with the given reader. refused is called for a rejected kubeconfig, and again
// only if the reason changes.
func NewReader(secrets client.Reader, rules Rules, refused func(cluster client.ObjectKey, why error)) *Reader {
	r := &Reader{Reader: secrets, rules: rules, refused: refused, known: map[client.ObjectKey]*workload{}}
	r.number = all().add(r)
	return r
}

// Get implements client.Reader.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	cluster := client.ObjectKey{Namespace: key.Namespace, Name: strings.TrimSuffix(key.Name, "-"+string(secret.Kubeconfig))}
	if err := r.Reader.Get(ctx, key, o, opts...); err != nil {
		if apierrors.IsNotFound(err) {
			r.drop(cluster)
		}
		return err
	}
	found, ok := o.(*corev1.Secret)
	if !ok {
		return nil
	}
	data, ok := found.Data[secret.KubeconfigDataName]
	if !ok {
		return nil
	}
	made, err := r.workload(data)
	if err != nil {
		err = fmt.Errorf("key %s of Secret %s %w", secret.KubeconfigDataName, key, err)
		r.refuse(cluster, err)
		return err
	}
	r.mu.Lock()
	r.known[cluster] = made
	r.mu.Unlock()
	found.Data[secret.KubeconfigDataName], err = r.leadingHere(cluster, made.server.Path)
	return err
}

func (r *Reader) workload(data []byte) (*workload, error) {
	config, err := r.rules.Parse(data)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("has no usable server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("has no usable certificates: %w", err)
	}
	return &workload{server: server, transport: transport}, nil
}

// refuse stores why a kubeconfig is rejected, and reports a new reason.
func (r *Reader) refuse(cluster client.ObjectKey, why error) {
	r.mu.Lock()
	before := r.known[cluster]
	r.known[cluster] = &workload{why: why.Error()}
	r.mu.Unlock()
	if before == nil || before.why != why.Error() {
		r.refused(cluster, why)
	}
}

// Forget drops the state of a deleted Cluster, and the metrics of requests to it.
func (r *Reader) Forget(cluster client.ObjectKey) {
	r.drop(cluster)
	ForgetRequests(r.host(cluster))
}

func (r *Reader) drop(cluster client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, cluster)
}

func (r *Reader) host(cluster client.ObjectKey) string {
	return r.number + "." + cluster.Namespace + "." + cluster.Name
}

// scheme is the scheme of servers in kubeconfigs that lead to a Reader: scheme://NUMBER.NAMESPACE.CLUSTER.
const scheme = "workload"

// leadingHere returns a kubeconfig whose requests are handled by RoundTrip.
func (r *Reader) leadingHere(cluster client.ObjectKey, path string) ([]byte, error) {
	server := url.URL{Scheme: scheme, Host: r.host(cluster), Path: path}
	config := api.NewConfig()
	config.Clusters[scheme], config.AuthInfos[scheme] = &api.Cluster{Server: server.String()}, &api.AuthInfo{}
	config.Contexts[scheme], config.CurrentContext = &api.Context{Cluster: scheme, AuthInfo: scheme}, scheme
	return clientcmd.Write(*config)
}

// roundTrip sends a request to the server of a Cluster, with its most recently read kubeconfig.
func (r *Reader) roundTrip(cluster client.ObjectKey, request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	to := r.known[cluster]
	r.mu.Unlock()
	if to == nil || to.transport == nil {
		return nil, fmt.Errorf("the kubeconfig of Cluster %s was deleted or rejected", cluster)
	}
	request = request.Clone(request.Context())
	request.URL.Scheme, request.URL.Host, request.Host = to.server.Scheme, to.server.Host, ""
	return to.transport.RoundTrip(request)
}

// readers maps numbers to the readers of this process.
type readers struct {
	mu    sync.Mutex
	known map[string]*Reader
}

// all is registered once, because http.Transport accepts a scheme only once.
var all = sync.OnceValue(func() *readers { //nolint:gochecknoglobals // net/http's default transport is global, too
	r := &readers{known: map[string]*Reader{}}
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.RegisterProtocol(scheme, r) // otherwise requests of the scheme fail
	}
	return r
})

func (r *readers) add(reader *Reader) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	number := strconv.Itoa(len(r.known))
	r.known[number] = reader
	return number
}

// RoundTrip implements http.RoundTripper.
func (r *readers) RoundTrip(request *http.Request) (*http.Response, error) {
	number, cluster, _ := strings.Cut(request.URL.Host, ".")
	namespace, name, _ := strings.Cut(cluster, ".")
	r.mu.Lock()
	reader := r.known[number]
	r.mu.Unlock()
	if reader == nil {
		return nil, fmt.Errorf("%s does not belong to a Cluster", request.URL.Host)
	}
	return reader.roundTrip(client.ObjectKey{Namespace: namespace, Name: name}, request)
}
