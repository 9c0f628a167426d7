// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/shared/ports"
)

const (
	// namespace is KubeVirt's default namespace.
	namespace = "kubevirt"
	// The programs, by the names of their files.
	virtAPI, virtController, virtOperator = "virt-api", "virt-controller", "virt-operator"
	// The ServiceAccounts of the programs. The simulated virt-handler uses the account of virt-handler.
	accountOfAPI, accountOfController, accountOfHandler = "kubevirt-apiserver", "kubevirt-controller", "kubevirt-handler"
	// tokenSeconds is longer than any simulator runs.
	tokenSeconds = 30 * 24 * 3600
	// startTimeout is longer than a program takes to start on a busy machine.
	startTimeout   = 2 * time.Minute
	pollInterval   = 50 * time.Millisecond
	requestTimeout = 5 * time.Second
)

// Programs are the binaries of KubeVirt's control plane.
type Programs struct {
	// Folder contains virt-api, virt-controller and virt-operator of the same release.
	Folder string
	// Logs is the folder for their logs; if empty, a folder is used that is deleted with the simulator.
	Logs string
}

// KubeVirt is a real KubeVirt control plane on an API server.
type KubeVirt struct {
	programs Programs
	folder   string
	client   client.Client
	config   *rest.Config
	release  *release
	// certificate and key are the serving certificate of virt-api; certificate includes its CA.
	certificate, key []byte
	processes        []*Process
	reserved         *ports.Range
}

// NewKubeVirt returns a KubeVirt that keeps its files in a folder. It returns an error if a program is missing.
func NewKubeVirt(programs Programs, folder string) (*KubeVirt, error) {
	k := &KubeVirt{programs: programs, folder: folder}
	for _, name := range []string{virtAPI, virtController, virtOperator} {
		if info, err := os.Stat(k.path(name)); err != nil || info.IsDir() {
			return nil, fmt.Errorf("program %s of KubeVirt does not exist: the folder %q must contain %s, %s and %s of the same release",
				name, programs.Folder, virtAPI, virtController, virtOperator)
		}
	}
	var err error
	if k.certificate, k.key, err = certutil.GenerateSelfSignedCertKey(ports.Host, []net.IP{net.ParseIP(ports.Host)}, nil); err != nil {
		return nil, fmt.Errorf("creating virt-api's certificate: %w", err)
	}
	return k, errors.Join(os.WriteFile(k.certificateFile(), k.certificate, 0o600), os.WriteFile(k.keyFile(), k.key, 0o600))
}

func (k *KubeVirt) path(program string) string { return filepath.Join(k.programs.Folder, program) }
func (k *KubeVirt) certificateFile() string    { return filepath.Join(k.folder, "virt-api.crt") }
func (k *KubeVirt) keyFile() string            { return filepath.Join(k.folder, "virt-api.key") }

func (k *KubeVirt) log(program string) string {
	if k.programs.Logs != "" {
		return filepath.Join(k.programs.Logs, program+".log")
	}
	return filepath.Join(k.folder, program+".log")
}

// Configure makes the API server publish the CA of its request header authentication, without which virt-api does not start.
func (k *KubeVirt) Configure(plane *envtest.ControlPlane) {
	plane.GetAPIServer().Configure().Set("requestheader-client-ca-file", k.certificateFile()).
		Set("requestheader-allowed-names", "front-proxy-client").
		Set("requestheader-username-headers", "X-Remote-User").
		Set("requestheader-group-headers", "X-Remote-Group").
		Set("requestheader-extra-headers-prefix", "X-Remote-Extra-")
}

// Install installs the objects of KubeVirt's release, except for the webhooks, with an administrator's client.
func (k *KubeVirt) Install(ctx context.Context, config *rest.Config, c client.Client) error {
	k.config, k.client = config, c
	return k.install(ctx)
}

// Handler returns the client configuration of the simulated virt-handler, whose writes to instances are accepted by virt-api.
func (k *KubeVirt) Handler() *rest.Config {
	config := rest.CopyConfig(k.config)
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + accountOfHandler
	return config
}

// Start runs the programs until Stop.
func (k *KubeVirt) Start(ctx context.Context) error {
	var err error
	if k.reserved, err = ports.Reserve(2); err != nil {
		return err
	}
	serving := strconv.Itoa(k.reserved.First)
	api, err := k.run(ctx, virtAPI, accountOfAPI,
		"--listen="+ports.Host, "--port="+serving, "--tls-cert-file="+k.certificateFile(), "--tls-key-file="+k.keyFile(),
		"--handler-cert-file="+k.certificateFile(), "--handler-key-file="+k.keyFile())
	if err != nil {
		return err
	}
	address := "https://" + net.JoinHostPort(ports.Host, serving)
	if err := k.waitForAPI(ctx, api, address); err != nil {
		return err
	}
	if err := k.register(ctx, address); err != nil {
		return err
	}
	_, err = k.run(ctx, virtController, accountOfController,
		"--listen="+ports.Host, "--port="+strconv.Itoa(k.reserved.First+1), "--prom-cert-file="+k.certificateFile(), "--prom-key-file="+k.keyFile(),
		"--launcher-image=simulated/virt-launcher", "--exporter-image=simulated/virt-exportserver")
	return err
}

// Stop stops the programs and returns an error for those that had exited before.
func (k *KubeVirt) Stop() error {
	var errs []error
	for _, running := range k.processes {
		errs = append(errs, running.Stop())
	}
	if k.reserved != nil {
		k.reserved.Release()
	}
	return errors.Join(errs...)
}

// run starts a program with the permissions of its ServiceAccount.
func (k *KubeVirt) run(ctx context.Context, program, account string, args ...string) (*Process, error) {
	access := filepath.Join(k.folder, program+".kubeconfig")
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}}
	err := k.client.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}, request)
	if err != nil {
		return nil, fmt.Errorf("requesting a token for %s: %w", program, err)
	}
	config := rest.AnonymousClientConfig(k.config)
	config.BearerToken = request.Status.Token
	if err := k.writeKubeconfig(access, config); err != nil {
		return nil, err
	}
	running, err := Start(ctx, Command{
		Name: program, Path: k.path(program), Args: append([]string{"--kubeconfig=" + access}, args...), Log: k.log(program),
	})
	if err == nil {
		k.processes = append(k.processes, running)
	}
	return running, err
}

func (k *KubeVirt) writeKubeconfig(file string, config *rest.Config) error {
	const name = "harvester"
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}}, CurrentContext: name,
	}, file)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// waitForAPI waits until virt-api responds, with any status.
func (k *KubeVirt) waitForAPI(ctx context.Context, api *Process, address string) error {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(k.certificate)
	probe := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
	defer probe.CloseIdleConnections()
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := api.Err(); err != nil {
			return false, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return false, err
		}
		answer, err := probe.Do(request)
		if last = err; err != nil {
			return false, nil //nolint:nilerr // it is polled again
		}
		return true, answer.Body.Close()
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for virt-api: %w", errors.Join(err, last))
	}
	return err
}

// register registers the webhooks of virt-api by URL, because virt-api has no Service.
func (k *KubeVirt) register(ctx context.Context, address string) error {
	var objects []client.Object
	for _, configuration := range k.release.mutating {
		var kept []admissionregistrationv1.MutatingWebhook
		for _, webhook := range configuration.Webhooks {
			if k.redirect(&webhook.ClientConfig, address) {
				kept = append(kept, webhook)
			}
		}
		if configuration.Webhooks = kept; len(kept) > 0 {
			objects = append(objects, configuration)
		}
	}
	for _, configuration := range k.release.validating {
		var kept []admissionregistrationv1.ValidatingWebhook
		for _, webhook := range configuration.Webhooks {
			if k.redirect(&webhook.ClientConfig, address) {
				kept = append(kept, webhook)
			}
		}
		if configuration.Webhooks = kept; len(kept) > 0 {
			objects = append(objects, configuration)
		}
	}
	for _, object := range objects {
		if err := k.client.Create(ctx, object); err != nil {
			return fmt.Errorf("registering KubeVirt's webhooks %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// redirect points a webhook of virt-api to its address. Webhooks of virt-operator are not served and not registered.
func (k *KubeVirt) redirect(to *admissionregistrationv1.WebhookClientConfig, address string) bool {
	if to.Service == nil || to.Service.Name != virtAPI {
		return false
	}
	to.URL, to.Service, to.CABundle = ptr.To(address+ptr.Deref(to.Service.Path, "")), nil, k.certificate
	return true
}
