// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	// restLimit bounds how long a control plane takes to come up, and to come to rest, when nothing moves any more; mostLimit when
	// something does. Controllers wait for half a minute here and there, and the machine may do other things too.
	restLimit = 4 * time.Minute
	mostLimit = 30 * time.Minute
	goneLimit = 3 * time.Minute
	// tightLimit is how long it must have been said that there is no room.
	tightLimit = time.Minute
	// refusedLimit is how long a machine waits for a failure domain that receives none until a person deletes it.
	refusedLimit = time.Minute
	// askedFor is how long the control plane is paused for its controller to show it.
	askedFor = 2 * time.Second
	// leftLimit is how long it must have been said that the control plane replaces no unhealthy machine.
	leftLimit = 10 * time.Second
	// amidLimit bounds how long a move is waited for that may not come.
	amidLimit = time.Minute
)

// controlPlane is that of one seed.
type controlPlane struct {
	script
	environment *environment
	client      client.WithWatch
	recorder    *recorder
	infra       *unstructured.Unstructured // the provider's object for the Cluster
	template    *unstructured.Unstructured // that the infrastructure machines are cloned from

	intents map[string]faultlinev1.DomainState
	lost    string // failure domain
	stopped string // Machine
	claimed string // Machine
	held    string // Machine
	renewed int    // templates
	// stripping says that a policy removes annotations.
	stripping bool

	mu    sync.Mutex
	armed map[phase]bool // at which the manager is killed
	// waiting are kills under way.
	waiting sync.WaitGroup
}

// outcome is what became of a seed.
type outcome struct {
	script
	history history
	faults  []string
	err     error
	took    time.Duration
	// machines are what the infrastructure machines say in the end, if there is a fault.
	machines []string
}

func (g *environment) run(ctx context.Context, s script) outcome {
	began := time.Now()
	if _, is := g.sites.(provider.Unbounded); is {
		s.room = roomy
	}
	p := &controlPlane{script: s, environment: g, client: g.management.Client, intents: map[string]faultlinev1.DomainState{}, armed: map[phase]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := p.live(ctx)
	p.waiting.Wait()
	o := outcome{script: s, err: err}
	if p.recorder != nil {
		o.history = p.recorder.history()
	}
	if err == nil {
		o.faults = judgeHistory(o.history)
	}
	o.took = time.Since(began)
	if len(o.faults) > 0 || err != nil {
		o.machines = p.infrastructure(ctx)
	}
	p.remove(ctx)
	return o
}

// infrastructure is what each infrastructure machine says of itself.
func (p *controlPlane) infrastructure(ctx context.Context) []string {
	list := listOf(p.environment.kinds().machine)
	if err := p.client.List(ctx, list, client.InNamespace(p.name())); err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for i := range list.Items {
		is, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions") // or none
		lines = append(lines, fmt.Sprintf("%s %v: %v", list.Items[i].GetName(), list.Items[i].GetAnnotations(), is))
	}
	return lines
}

// live goes through the script, then lets everything come to rest.
func (p *controlPlane) live(ctx context.Context) error {
	if err := p.create(ctx); err != nil {
		return err
	}
	if err := p.await(ctx, mostLimit, "coming up", func(m moment) bool {
		return m.replicas > 0 && m.whole() && len(m.members) == m.replicas && m.states != nil
	}); err != nil {
		return err
	}
	for _, step := range p.steps {
		if err := p.do(ctx, step); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		if err := provider.Pause(ctx, step.pause); err != nil {
			return err
		}
	}
	if err := p.calm(ctx); err != nil {
		return fmt.Errorf("ending the faults: %w", err)
	}
	if err := p.tend(ctx, "the failure domains being what they are meant to be", p.over); err != nil {
		return err
	}
	p.recorder.done(ctx, "the faults are over", func(s *state) { s.moment.calm = true })
	// What does not come to rest is for the judge.
	err := p.tend(ctx, "coming to rest", rests)
	if ctx.Err() != nil {
		return err
	}
	return nil
}

// tend waits until the control plane is as it should be, and does what only a person can. A machine that was asked to be in a failure domain
// which began to be cordoned or emptied before it was there waits for a person, as it says: that it is deleted, here after a while. So does a
// control plane with the annotation of a remediation that has ended, and one that is asked for no move as annotations were removed.
func (p *controlPlane) tend(ctx context.Context, what string, holds func(moment) bool) error {
	since := map[types.UID]time.Time{}
	for {
		var waits *machine
		leftOver, removed := false, false
		if err := p.await(ctx, mostLimit, what, func(m moment) bool {
			waits, leftOver = m.refused(since, time.Now()), m.leftOver() && time.Since(m.at) > leftLimit
			removed = m.removed() && time.Since(m.at) > leftLimit
			return waits != nil || leftOver || removed || holds(m)
		}); err != nil {
			return err
		}
		var err error
		switch {
		case waits != nil:
			err = p.deleteAsPerson(ctx, *waits)
		case leftOver:
			err = p.endRemediation(ctx)
		case removed:
			err = p.askAgain(ctx)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// rests reports whether nothing is left to be done. That there is no room must have stayed so for a while.
func rests(m moment) bool {
	return len(unsettledControlPlane(m)) == 0 && (!excused(m) && !m.crowded() || time.Since(m.at) > tightLimit)
}

// await waits until the control plane is as it should be, unless nothing of it changes any more.
func (p *controlPlane) await(ctx context.Context, limit time.Duration, what string, holds func(moment) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not done after %s", what, limit))
	defer cancel()
	return provider.Until(ctx, func(context.Context) (string, error) {
		last := p.recorder.last()
		switch {
		case holds(last):
			return "", nil
		case !last.at.IsZero() && time.Since(last.at) > restLimit:
			return "", &provider.Violation{Rule: fmt.Sprintf("%s: nothing happens any more: %s", what, last)}
		}
		return last.String(), nil
	})
}

// create makes the cluster from the provider's template, with its MachineHealthCheck and without workers.
func (p *controlPlane) create(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name()}}
	if err := p.client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating namespace %s: %w", p.name(), err)
	}
	objects, err := p.objects()
	if err != nil {
		return err
	}
	if err := p.environment.sites.AddCluster(ctx, p.environment.management, p.infra, p.domainNames(), p.room); err != nil {
		return fmt.Errorf("laying out failure domains: %w", err)
	}
	p.recorder = &recorder{client: p.client, kinds: p.environment.kinds(), look: p.members, heed: func(before, now moment) { p.heed(ctx, before, now) }}
	if err := p.recorder.record(ctx, p.name()); err != nil {
		return err
	}
	p.recorder.done(ctx, p.String(), func(s *state) {
		if p.tight() {
			s.moment.room = p.room
		}
	})
	for _, object := range objects {
		if err := p.createObject(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (p *controlPlane) createObject(ctx context.Context, object *unstructured.Unstructured) error {
	if err := provider.Insist(func() error { return p.client.Create(ctx, object) }); err != nil {
		return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// objects are those of the template that a control plane needs.
func (p *controlPlane) objects() ([]*unstructured.Unstructured, error) {
	host, port, err := p.environment.workload.Endpoint(p.name(), p.name())
	if err != nil {
		return nil, fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	variables := maps.Clone(p.environment.setup.Variables)
	maps.Copy(variables, map[string]string{
		"CLUSTER_NAME": p.name(), "NAMESPACE": p.name(), "KUBERNETES_VERSION": binaries.KubernetesVersion,
		"CONTROL_PLANE_ENDPOINT_IP": host, "CONTROL_PLANE_ENDPOINT_PORT": strconv.Itoa(port), "CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(p.replicas),
		"FAILURE_DOMAIN_GRACE_SECONDS": strconv.Itoa(p.graceSeconds), "FAILURE_DOMAIN_HOLD_SECONDS": strconv.Itoa(p.holdSecs),
	})
	about := p.environment.about
	content, err := os.ReadFile(filepath.Join(p.environment.root, "templates", about.Name, about.Template(p.environment.sites.Flavor())))
	if err != nil {
		return nil, err
	}
	objects, err := managementcluster.Fill(content, variables)
	if err != nil {
		return nil, err
	}
	// Failure domains that are objects of their own are made by AddCluster.
	left := append([]string{"MachineDeployment", "KubeadmConfigTemplate"}, about.Shared...)
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return slices.Contains(left, o.GetKind()) || strings.HasSuffix(o.GetName(), "-worker")
	})
	return objects, p.adapt(objects)
}

// adapt finds the objects that are changed later, and has the control plane rebalance.
func (p *controlPlane) adapt(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		switch object.GetKind() {
		case p.environment.about.ClusterKind:
			p.infra = object
		case p.environment.about.MachineKind() + "Template":
			p.template = object.DeepCopy()
		}
	}
	return unstructured.SetNestedMap(p.infra.Object, map[string]any{
		"rebalance": string(p.mode), "stabilizationSeconds": p.stabilization,
	}, "spec", "distribution", "controlPlane")
}

func (p *controlPlane) members(ctx context.Context) []etcdMember {
	known, err := p.environment.workload.Members(ctx, client.ObjectKey{Namespace: p.name(), Name: p.name()})
	if err != nil {
		return nil
	}
	members := make([]etcdMember, 0, len(known))
	for _, is := range known {
		members = append(members, etcdMember{machine: is.Machine, healthy: is.Healthy})
	}
	return members
}

// remove deletes the cluster. What is left of it does not matter.
func (p *controlPlane) remove(ctx context.Context) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: p.name()}}
	if p.client.Delete(ctx, cluster) != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, goneLimit)
	defer cancel()
	_ = provider.Until(limited, func(ctx context.Context) (string, error) {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); !apierrors.IsNotFound(err) {
			return "it is there", err
		}
		return "", nil
	})
	_ = p.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name()}})
}
