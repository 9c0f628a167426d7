// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package migration_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

// user is a client of a real API server.
var user client.WithWatch

func TestMain(m *testing.M) {
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, lbv1.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	crds, err := simulator.CRDs()
	utilruntime.Must(err)
	testenv.Main(m, testenv.Options{Scheme: scheme, CRDs: crds}, func(env *envtest.Environment) (err error) {
		user, err = client.NewWithWatch(env.Config, client.Options{Scheme: scheme})
		return err
	})
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := user.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func pool(t *testing.T, name string) *lbv1.IPPool {
	t.Helper()
	pool := &lbv1.IPPool{}
	if err := user.Get(t.Context(), client.ObjectKey{Name: name}, pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// withCrash returns a migration that ends before its nth write.
func withCrash(n int) (*migration.Migration, *events.FakeRecorder) {
	writes := 0
	crash := func() error {
		if writes++; n > 0 && writes >= n {
			return errors.New("the manager has ended")
		}
		return nil
	}
	c := interceptor.NewClient(user, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := crash(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := crash(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	recorder := events.NewFakeRecorder(20)
	return migration.New(c, user, ipam.NewAllocator(c, user), recorder), recorder
}

// configured creates the ConfigMap that is converted, until the test ends: there is only one.
func configured(t *testing.T, data map[string]string) {
	t.Helper()
	config := configMap("kube-system", data)
	create(t, config)
	t.Cleanup(func() {
		if err := user.Delete(context.WithoutCancel(t.Context()), config); err != nil {
			t.Error(err)
		}
	})
}

func TestConfigMapConversionSurvivesCrashes(t *testing.T) {
	g := NewWithT(t)
	configured(t, map[string]string{"cidr-tenant": "10.40.0.0/24", "cidr-global": "10.41.0.0/24", "cidr-broken": "10.42"})
	create(t, namespace("tenant"),
		configMap("tenant", map[string]string{"kubevip-services": `{"services":[
			{"vip":"10.40.0.5","serviceName":"lives"},{"vip":"10.40.0.6","serviceName":"gone"},{"vip":"10.41.0.7","serviceName":"everywhere"}]}`}),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "lives"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: "10.40.0.5", Ports: []corev1.ServicePort{{Port: 80}}}},
		&lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "everywhere"},
			Status: lbv1.LoadBalancerStatus{Address: "10.41.0.7"}},
	)
	for n := 1; n <= 3; n++ {
		crashing, _ := withCrash(n)
		g.Expect(crashing.Run(t.Context())).To(MatchError(ContainSubstring("the manager has ended")))
	}
	whole, recorder := withCrash(0)
	g.Expect(whole.Run(t.Context())).To(Succeed())
	g.Expect(<-recorder.Events).To(And(ContainSubstring("NotConverted"), ContainSubstring("cidr-broken")))

	tenant, global := pool(t, "tenant"), pool(t, "global")
	g.Expect(tenant.Status.Allocated).To(Equal(map[string]string{"10.40.0.5": "tenant/lives"}))
	g.Expect(tenant.Status.AllocatedHistory).To(Equal(map[string]string{"10.40.0.6": "tenant/gone"}))
	g.Expect([]int64{tenant.Status.Total, tenant.Status.Available}).To(Equal([]int64{253, 252}))
	g.Expect(global.Status.Allocated).To(Equal(map[string]string{"10.41.0.7": "tenant/everywhere"}))
	g.Expect(ippools.IsGlobal(global)).To(BeTrue())

	// The migration is complete: pools that are deleted afterwards are not recreated.
	g.Expect(user.Delete(t.Context(), global)).To(Succeed())
	g.Expect(whole.Run(t.Context())).To(Succeed())
	g.Expect(user.Get(t.Context(), client.ObjectKeyFromObject(global), global)).To(MatchError(ContainSubstring("not found")))
}

func TestLoadBalancersOfAnotherManagerKeepAddresses(t *testing.T) {
	g := NewWithT(t)
	create(t, namespace("kept"), &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.43.0.0/24"}}},
		Status: lbv1.IPPoolStatus{Total: 1, Available: 99, LastAllocated: "10.43.0.9", Allocated: map[string]string{
			"10.43.0.2": "kept/right", "10.43.0.3": "kept/twice", "10.43.0.4": "kept/twice", "10.43.0.5": "kept/other", "10.43.0.6": "machines/m",
		}}})
	shows := func(name, ip string) *lbv1.LoadBalancer {
		return &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "kept", Name: name},
			Status: lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IPPool: "kept", IP: ip}}}
	}
	create(t, shows("right", "10.43.0.2"), shows("twice", "10.43.0.4"), shows("other", "10.43.0.8"), shows("lost", "10.43.0.9"),
		shows("taken", "10.43.0.6"), shows("outside", "10.44.0.6"), shows("dhcp", "0.0.0.0"))
	whole, recorder := withCrash(0)
	g.Expect(whole.Run(t.Context())).To(Succeed())
	g.Expect(pool(t, "kept").Status.Allocated).To(Equal(map[string]string{
		"10.43.0.2": "kept/right", "10.43.0.4": "kept/twice", "10.43.0.8": "kept/other", "10.43.0.9": "kept/lost", "10.43.0.6": "machines/m",
	}))
	told := []string{<-recorder.Events, <-recorder.Events}
	g.Expect(told).To(ConsistOf(ContainSubstring("10.43.0.6"), ContainSubstring("10.44.0.6")))

	// No address is allocated before the migration.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := whole.Claim(ctx, "kept", "kept/new")
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(whole.Start(t.Context())).To(Succeed())
	got, err := whole.Claim(t.Context(), "kept", "kept/twice")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.IP.String()).To(Equal("10.43.0.4"))
}

// A pool with a name in the ConfigMap was created before, without the holders of its addresses.
func TestExistingPoolRecordsHolders(t *testing.T) {
	g := NewWithT(t)
	create(t, namespace("before"), &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "before"},
		Spec:   lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.45.0.0/25"}}},
		Status: lbv1.IPPoolStatus{Allocated: map[string]string{"10.45.0.9": "machines/m"}}})
	service := func(name, ip string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "before", Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: ip, Ports: []corev1.ServicePort{{Port: 80}}}}
	}
	create(t, service("inside", "10.45.0.5"), service("taken", "10.45.0.9"), service("outside", "10.45.0.200"),
		&lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "before", Name: "older"},
			Status: lbv1.LoadBalancerStatus{Address: "10.45.0.6", AllocatedAddress: lbv1.AllocatedAddress{IP: "10.45.0.6"}}})
	configured(t, map[string]string{"cidr-before": "10.45.0.0/24"})
	whole, recorder := withCrash(0)
	g.Expect(whole.Run(t.Context())).To(Succeed())
	g.Expect(pool(t, "before").Status.Allocated).To(Equal(map[string]string{
		"10.45.0.5": "before/inside", "10.45.0.6": "before/older", "10.45.0.9": "machines/m",
	}))
	g.Expect([]string{<-recorder.Events, <-recorder.Events, <-recorder.Events}).To(ConsistOf(
		ContainSubstring("existed before"), ContainSubstring("before/outside keeps 10.45.0.200"), ContainSubstring("before/taken keeps 10.45.0.9")))
}

func TestAConversionWhoseMarkAPolicyRemovesIsReportedAndDoesNotHoldUpAddresses(t *testing.T) {
	g := NewWithT(t)
	configured(t, map[string]string{"cidr-marked": "10.46.0.0/24"})
	writes := 0
	c := interceptor.NewClient(user, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, o, p, opts...); err != nil {
				return err
			}
			config, ok := o.(*corev1.ConfigMap)
			if !ok {
				return nil
			}
			writes++
			before := config.DeepCopy()
			delete(config.Annotations, lbv1.ConvertedAnnotation)
			return c.Patch(ctx, config, client.MergeFrom(before), opts...)
		},
	})
	recorder := events.NewFakeRecorder(20)
	g.Expect(migration.New(c, user, ipam.NewAllocator(c, user), recorder).Run(t.Context())).To(Succeed())
	g.Expect(writes).To(Equal(1))
	g.Expect(recorder.Events).To(Receive(And(ContainSubstring("AnnotationsRemoved"), ContainSubstring("annotation "+lbv1.ConvertedAnnotation+" of ConfigMap kubevip"))))
	g.Expect(pool(t, "marked").Spec.Ranges).NotTo(BeEmpty())
}
