// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/shared/simulation"
)

// disobedient writes a kubeconfig for a user in the ServiceAccount groups. Until the test ends, the API server shows every fault
// to this user. The test fails if the user sends too many requests for an object.
func disobedient(t *testing.T, env *envtest.Environment, name string) string {
	t.Helper()
	proxy, err := simulation.NewProxy(env.Config, simulation.Address{})
	if err != nil {
		t.Fatal(err)
	}
	proxy.CountOnly()
	const token = "user"
	proxy.Admit(token, simulation.User{Name: name, Groups: accountGroups()})
	if err := proxy.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Close() // It rejects connections from then on.
		t.Log(proxy.Highest())
		if err := proxy.Highest().TooMany(); err != nil {
			t.Error(err)
		}
	})
	for _, fault := range simulation.ProxyFaults() {
		if err := fault.Make(t.Context(), &proxy.Faults, true); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: proxy.URL(), CertificateAuthorityData: proxy.Authority()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
