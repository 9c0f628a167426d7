// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	// restLimit bounds how long a control plane takes to start, and to settle when nothing moves any more; mostLimit bounds it when
	// something does. Some controllers wait for half a minute, and the machine may be busy.
	restLimit = 4 * time.Minute
	mostLimit = 30 * time.Minute
	goneLimit = 3 * time.Minute
	// tightLimit is how long a lack of capacity must have been reported.
	tightLimit = time.Minute
	// refusedLimit is how long a machine waits in a failure domain that receives none until the user deletes it.
	refusedLimit = time.Minute
	// askedFor is how long the control plane is paused, so that its controller reports it.
	askedFor = 2 * time.Second
	// leftLimit is how long it must have been reported that the control plane replaces no unhealthy machine.
	leftLimit = 10 * time.Second
	// amidLimit bounds the wait for a move that may not come.
	amidLimit = time.Minute
)

// controlPlane is the control plane of one seed.
type controlPlane struct {
	script
	environment *commonEnvironment
	client      client.WithWatch
	recorder    *recorder
	infra       *unstructured.Unstructured // the provider's infrastructure cluster
	template    *unstructured.Unstructured // the infrastructure machine template
	object      *unstructured.Unstructured // the control plane's object

	intents map[string]faultlinev1.DomainState
	lost    string // failure domain
	stopped string // Machine
	claimed string // Machine
	held    string // Machine
	renewed int    // number of template replacements
	// stripping is set while a policy removes annotations.
	stripping bool
	// announced is set once the Cluster's topology has the version of the upgrade.
	announced bool

	mu    sync.Mutex
	armed map[phase]bool // phases at which the manager is killed
	// waiting tracks pending kills.
	waiting sync.WaitGroup
}

// outcome is the result of a seed.
type outcome struct {
	script
	history history
	faults  []string
	took    time.Duration
	// machines holds the conditions of the infrastructure machines at the end, if there is a fault.
	machines []string
}

func (g *commonEnvironment) run(ctx context.Context, s script) outcome {
	began := time.Now()
	if _, is := g.sites.(provider.UnboundedCapacity); is {
		s.capacity = roomy
	}
	p := &controlPlane{script: s, environment: g, client: g.Client, intents: map[string]faultlinev1.DomainState{}, armed: map[phase]bool{}}
	p.recorder = &recorder{members: p.members, changed: p.killIfArmed}
	g.recorders.Store(p.name(), p.recorder)
	err := p.live(ctx)
	g.recorders.Delete(p.name())
	p.waiting.Wait()
	o := outcome{script: s, history: p.recorder.history(), took: time.Since(began)}
	if err != nil {
		o.faults = []string{err.Error()}
	} else {
		o.faults = checkHistory(o.history)
	}
	if len(o.faults) > 0 {
		o.machines = p.infrastructure(ctx)
	}
	p.remove(ctx)
	return o
}

// infrastructure returns the conditions of each infrastructure machine.
func (p *controlPlane) infrastructure(ctx context.Context) []string {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(p.environment.about.Of(p.environment.about.MachineKind()).GroupVersionKind())
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

// live runs the script, then lets the control plane settle.
func (p *controlPlane) live(ctx context.Context) error {
	if err := p.create(ctx); err != nil {
		return err
	}
	if err := p.await(ctx, mostLimit, "waiting until all machines are up", func(m moment) bool {
		return m.replicas > 0 && m.complete() && len(m.members) == m.replicas && m.states != nil
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
	if err := p.endFaults(ctx); err != nil {
		return fmt.Errorf("ending the faults: %w", err)
	}
	if err := p.waitEndingFaults(ctx, "waiting for the intended failure domains", p.over); err != nil {
		return err
	}
	p.recorder.done(ctx, "the faults are over", func(m *moment) { m.faultsOver = true })
	// A control plane that does not settle is reported by checkHistory.
	err := p.waitEndingFaults(ctx, "waiting until nothing changes", settled)
	if ctx.Err() != nil {
		return err
	}
	return nil
}

// waitEndingFaults waits until holds is true and, on behalf of the user, resolves states that need one. A machine waits for the
// user if it requested a failure domain that was cordoned or evicted before the machine got there, as its condition reports; it is
// deleted after a while. A control plane also needs the user if it has the annotation of a finished remediation, or if it gets no
// move because annotations were removed.
func (p *controlPlane) waitEndingFaults(ctx context.Context, what string, holds func(moment) bool) error {
	since := map[string]time.Time{}
	for {
		waits, leftOver, removed := "", false, false
		err := p.await(ctx, mostLimit, what, func(m moment) bool {
			lasts := time.Since(m.at) > leftLimit
			waits, leftOver, removed = m.refused(since, time.Now()), m.leftOver() && lasts, m.removed() && lasts
			return waits != "" || leftOver || removed || holds(m)
		})
		switch {
		case err != nil:
			return err
		case waits != "":
			err = p.deleteAsPerson(ctx, waits)
		case leftOver:
			err = p.endRemediation(ctx)
		case removed:
			err = p.triggerReconcile(ctx)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// settled reports whether no work is left. A lack of capacity must have lasted for a while.
func settled(m moment) bool {
	return len(unsettledControlPlane(m)) == 0 && (!excused(m) && !m.overCapacity() || time.Since(m.at) > tightLimit)
}

// await waits until holds is true. It fails after limit, or once the control plane has not changed for restLimit.
func (p *controlPlane) await(ctx context.Context, limit time.Duration, what string, holds func(moment) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not done after %s", what, limit))
	defer cancel()
	return provider.Until(ctx, func(context.Context) (string, error) {
		last := p.recorder.last()
		switch {
		case holds(last):
			return "", nil
		case !last.at.IsZero() && time.Since(last.at) > restLimit:
			return "", &provider.Violation{Rule: fmt.Sprintf("%s: nothing changes any more: %s", what, last)}
		}
		return last.String(), nil
	})
}

// create creates the cluster from the provider's template, with its MachineHealthCheck and without workers.
func (p *controlPlane) create(ctx context.Context) error {
	if err := provider.Create(ctx, p.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name()}}); err != nil {
		return err
	}
	objects, err := p.objects()
	if err != nil {
		return err
	}
	if err := p.environment.sites.AddCluster(ctx, p.environment.Management, p.infra, p.domainNames(), p.capacity); err != nil {
		return fmt.Errorf("creating failure domains: %w", err)
	}
	p.recorder.done(ctx, p.String(), func(m *moment) {
		if p.tight() {
			m.capacity = p.capacity
		}
	})
	if p.hasTopology() {
		if err := p.createClass(ctx); err != nil {
			return err
		}
	}
	for _, object := range objects {
		if err := provider.Create(ctx, p.client, object); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the objects of the template that a control plane needs.
func (p *controlPlane) objects() ([]*unstructured.Unstructured, error) {
	objects, err := p.environment.Fill(p.environment.template, p.key(p.name()), map[string]string{
		"CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(p.replicas), "FAILURE_DOMAIN_GRACE_SECONDS": strconv.Itoa(p.graceSeconds),
		"FAILURE_DOMAIN_HOLD_SECONDS": strconv.Itoa(p.holdSecs),
	})
	if err != nil {
		return nil, err
	}
	// AddCluster creates failure domains that are separate objects.
	left := append([]string{"MachineDeployment"}, p.environment.about.Shared...)
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return slices.Contains(left, o.GetKind()) || strings.HasSuffix(o.GetName(), "-worker")
	})
	if err := p.adapt(objects); err != nil || !p.hasTopology() {
		return objects, err
	}
	return objects, p.addTopology(objects)
}

// adapt keeps the objects that are changed later, and enables rebalancing of the control plane.
func (p *controlPlane) adapt(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		switch object.GetKind() {
		case p.environment.about.ClusterKind:
			p.infra = object
		case p.environment.about.MachineKind() + "Template":
			p.template = object.DeepCopy()
		case p.environment.kind.Facts().Kind.Kind:
			p.object = object
		}
	}
	return unstructured.SetNestedMap(p.infra.Object, map[string]any{
		"rebalance": string(p.mode), "stabilizationSeconds": p.stabilization,
	}, "spec", "distribution", "controlPlane")
}

// members returns the members of etcd; none if they are unknown.
func (p *controlPlane) members(ctx context.Context) []workload.Member {
	known, _ := p.environment.Workload.Members(ctx, p.key(p.name()))
	return known
}

// key returns the key of an object of the control plane.
func (p *controlPlane) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: p.name(), Name: name}
}

// machine returns a Machine with a name and nothing else.
func (p *controlPlane) machine(name string) *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: name}}
}

// arm makes the manager be killed once when a move reaches a phase. All control planes share the manager, so others may cause kills as
// well.
func (p *controlPlane) arm(at phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed[at] = at != never
}

// killIfArmed kills the manager in the background when an armed phase is reached.
func (p *controlPlane) killIfArmed(ctx context.Context, before, after moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, armed := range p.armed {
		if !armed || reached(at, before) || !reached(at, after) {
			continue
		}
		p.armed[at] = false
		p.waiting.Go(func() {
			if done, err := p.environment.kill(ctx); err != nil {
				p.environment.Fail(fmt.Errorf("killing the manager: %w", err))
			} else if done {
				p.recorder.done(ctx, "killed when "+string(at))
			}
		})
	}
}

// remove deletes the cluster. It ignores whatever is left of it.
func (p *controlPlane) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, goneLimit)
	defer cancel()
	_ = provider.Delete(ctx, p.client, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: p.name()}})
	_ = p.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name()}})
}
