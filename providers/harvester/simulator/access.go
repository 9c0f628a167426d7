// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/faultline-io/faultline/shared/simulation"
)

const (
	authenticated = "system:authenticated"
	masters       = "system:masters"
	// grantTimeout is generous, because the API server runs on the same machine.
	grantTimeout = time.Minute
)

// Request is a request that the API server has received.
type Request = simulation.Request

func (s *Simulator) startProxy(ctx context.Context) error {
	var err error
	if s.proxy, err = simulation.NewProxy(s.config(), s.settings.address); err != nil {
		return err
	}
	s.onStop(s.proxy.Close)
	s.admin = rand.Text()
	s.proxy.Admit(s.admin, simulation.User{Name: "admin", Groups: []string{masters, authenticated}})
	return s.proxy.Up(ctx)
}

// Server returns the server address in all kubeconfigs.
func (s *Simulator) Server() string { return s.proxy.URL() }

// Kubeconfig returns an administrator's kubeconfig. Its requests are recorded and subject to network faults, unlike those of
// Client.
func (s *Simulator) Kubeconfig() []byte { return s.kubeconfig("admin", s.admin, "default") }

// KubeconfigFor returns the kubeconfig of a user with permissions according to the rules: in the namespace, or everywhere if it
// is "". Each call creates another token; earlier ones stay valid until Revoke. It panics without an API server.
func (s *Simulator) KubeconfigFor(user string, rules []rbacv1.PolicyRule, namespace string) []byte {
	s.Grant(user, rules, namespace)
	token := rand.Text()
	s.proxy.Admit(token, simulation.User{Name: user, Groups: []string{authenticated}})
	return s.kubeconfig(user, token, namespace)
}

// Grant sets the permissions of a user in the namespace, or everywhere if it is "". It panics without an API server.
func (s *Simulator) Grant(user string, rules []rbacv1.PolicyRule, namespace string) {
	ctx, cancel := context.WithTimeout(context.Background(), grantTimeout)
	defer cancel()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "simulated-" + user}
	var errs [2]error
	if namespace == "" {
		role, binding := &rbacv1.ClusterRole{ObjectMeta: meta}, &rbacv1.ClusterRoleBinding{ObjectMeta: meta}
		_, errs[0] = controllerutil.CreateOrUpdate(ctx, s.client, role, func() error {
			role.Rules = rules
			return nil
		})
		_, errs[1] = controllerutil.CreateOrUpdate(ctx, s.client, binding, func() error {
			binding.Subjects, binding.RoleRef = subjects, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}
			return nil
		})
	} else {
		role, binding := &rbacv1.Role{ObjectMeta: meta}, &rbacv1.RoleBinding{ObjectMeta: meta}
		_, errs[0] = controllerutil.CreateOrUpdate(ctx, s.client, role, func() error {
			role.Rules = rules
			return nil
		})
		_, errs[1] = controllerutil.CreateOrUpdate(ctx, s.client, binding, func() error {
			binding.Subjects, binding.RoleRef = subjects, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}
			return nil
		})
	}
	for _, err := range errs {
		if err != nil {
			panic(fmt.Sprintf("granting permissions to %s: %v", user, err))
		}
	}
}

// Revoke invalidates a kubeconfig, as if its token had expired.
func (s *Simulator) Revoke(kubeconfig []byte) error {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		s.proxy.Revoke(user.Token)
	}
	return nil
}

func (s *Simulator) kubeconfig(user, token, namespace string) []byte {
	const name = "harvester"
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: s.proxy.URL(), CertificateAuthorityData: s.proxy.Authority()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: user, Namespace: namespace}},
		CurrentContext: name,
	}
	data, err := clientcmd.Write(config)
	if err != nil {
		panic(fmt.Sprintf("writing a kubeconfig: %v", err)) // it contains only strings
	}
	return data
}

// Requests returns the requests made with kubeconfigs of the simulator, oldest first. It excludes those of the simulator's own
// controllers and Client.
func (s *Simulator) Requests() []Request { return s.proxy.Requests() }

// Watches returns the open watches, except those of Client.
func (s *Simulator) Watches() []Request { return s.proxy.Watches() }

// ForgetRequests clears the recorded requests.
func (s *Simulator) ForgetRequests() { s.proxy.ForgetRequests() }

// Down refuses new connections and closes existing ones.
func (s *Simulator) Down() { s.proxy.Down() }

// Up reverts Down.
func (s *Simulator) Up(ctx context.Context) error { return s.proxy.Up(ctx) }

// Delay delays each request; 0 removes the delay.
func (s *Simulator) Delay(delay time.Duration) { s.proxy.Delay(delay) }

// Fail rejects this share of the requests, 0 to 1, with 503.
func (s *Simulator) Fail(share float64) { s.proxy.Refuse(http.StatusServiceUnavailable, share) }

// LoseAnswers executes this share of the changes and closes the connection without a response.
func (s *Simulator) LoseAnswers(share float64) { s.proxy.Lose(share) }

// Conflict rejects this share of the updates and patches of a resource, such as ippools, with 409.
func (s *Simulator) Conflict(resource string, share float64) { s.proxy.Conflict(resource, share) }

// Silence keeps watches open without delivering events. When it is switched off, watches that have missed events are closed.
func (s *Simulator) Silence(on bool) { s.proxy.Silence(on) }

// StickWatches stops the delivery of events to the current watches, which stay open until CutWatches or until their clients close
// them.
func (s *Simulator) StickWatches() { s.proxy.Stick() }

// CutWatches closes all open watches.
func (s *Simulator) CutWatches() { s.proxy.Cut() }
