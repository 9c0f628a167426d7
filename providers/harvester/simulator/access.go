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
	// grantTimeout is generous: the API server is near.
	grantTimeout = time.Minute
)

// Request is what somebody has asked of the API server.
type Request = simulation.Request

func (s *Simulator) startFront(ctx context.Context) error {
	var err error
	if s.front, err = simulation.NewProxy(s.config(), s.settings.address); err != nil {
		return err
	}
	s.closing(s.front.Close)
	s.admin = rand.Text()
	s.front.Admit(s.admin, simulation.User{Name: "admin", Groups: []string{masters, authenticated}})
	return s.front.Up(ctx)
}

// Server is the address in all kubeconfigs.
func (s *Simulator) Server() string { return s.front.URL() }

// Kubeconfig is an administrator's. What it asks is counted and stood in the way of, unlike what Client asks.
func (s *Simulator) Kubeconfig() []byte { return s.kubeconfig("admin", s.admin, "default") }

// KubeconfigFor is a user's who may do what the rules say: in the namespace, or everywhere without one. Each time it has
// another token; earlier ones work until Revoke. It panics without an API server.
func (s *Simulator) KubeconfigFor(user string, rules []rbacv1.PolicyRule, namespace string) []byte {
	s.Grant(user, rules, namespace)
	token := rand.Text()
	s.front.Admit(token, simulation.User{Name: user, Groups: []string{authenticated}})
	return s.kubeconfig(user, token, namespace)
}

// Grant sets what a user may do in the namespace, or everywhere without one. It panics without an API server.
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
			panic(fmt.Sprintf("granting rights to %s: %v", user, err))
		}
	}
}

// Revoke makes a kubeconfig worth nothing, as if its token had expired.
func (s *Simulator) Revoke(kubeconfig []byte) error {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		s.front.Revoke(user.Token)
	}
	return nil
}

func (s *Simulator) kubeconfig(user, token, namespace string) []byte {
	const name = "harvester"
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: s.front.URL(), CertificateAuthorityData: s.front.Authority()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: user, Namespace: namespace}},
		CurrentContext: name,
	}
	data, err := clientcmd.Write(config)
	if err != nil {
		panic(fmt.Sprintf("writing a kubeconfig: %v", err)) // It is made of strings.
	}
	return data
}

// Requests are those that were asked with a kubeconfig of the simulator, oldest first. What the simulator's own controllers
// and Client ask is not among them.
func (s *Simulator) Requests() []Request { return s.front.Requests() }

// Watches are those that are open now, but for those of Client.
func (s *Simulator) Watches() []Request { return s.front.Watches() }

// ForgetRequests begins to count anew.
func (s *Simulator) ForgetRequests() { s.front.ForgetRequests() }

// Down refuses connections and ends those there are.
func (s *Simulator) Down() { s.front.Down() }

// Up ends Down.
func (s *Simulator) Up(ctx context.Context) error { return s.front.Up(ctx) }

// Delay has each request wait; 0 ends that.
func (s *Simulator) Delay(delay time.Duration) { s.front.Delay(delay) }

// Fail refuses this share of the requests, 0 to 1, with 503.
func (s *Simulator) Fail(share float64) { s.front.Refuse(http.StatusServiceUnavailable, share) }

// LoseAnswers makes this share of the changes and ends the connection instead of confirming them.
func (s *Simulator) LoseAnswers(share float64) { s.front.Lose(share) }

// Conflict refuses this share of the updates and patches of a resource, such as ippools, with 409.
func (s *Simulator) Conflict(resource string, share float64) { s.front.Conflict(resource, share) }

// Silence has watches stay open and bring nothing. When that ends, those that would have brought something end too.
func (s *Simulator) Silence(on bool) { s.front.Silence(on) }

// StickWatches has the watches of now stay open and bring nothing any more, until CutWatches or whoever has them ends them.
func (s *Simulator) StickWatches() { s.front.Stick() }

// CutWatches ends all watches that are open.
func (s *Simulator) CutWatches() { s.front.Cut() }
