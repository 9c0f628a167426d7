// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// act is an action on a control plane.
type act struct {
	name string
	// weight is how often it is drawn, relative to the other possible acts.
	weight int
	// ends is the act that it undoes, "" if none: of the two, only one is possible at a time.
	ends string
	// do performs it, unless it has no target.
	do func(*controlPlane, context.Context, step) error
}

const (
	evict    = "evict"
	rollOut  = "roll out"
	upgrade  = "upgrade"
	announce = "announce"
)

// acts returns all acts.
func acts() []act {
	setDomainState := func(state faultlinev1.DomainState) func(*controlPlane, context.Context, step) error {
		return func(p *controlPlane, ctx context.Context, s step) error { return p.setDomainState(ctx, s, state) }
	}
	return []act{
		{name: "cordon", weight: 2, do: setDomainState(faultlinev1.DomainCordoned)},
		{name: evict, weight: 6, do: setDomainState(faultlinev1.DomainEvicting)},
		{name: "activate", weight: 5, do: setDomainState(faultlinev1.DomainActive)},
		{name: "lose", weight: 2, do: (*controlPlane).lose},
		{name: "restore", weight: 2, ends: "lose", do: (*controlPlane).restore},
		{name: "delete", weight: 2, do: (*controlPlane).deleteMachine},
		{name: "stop", weight: 1, do: (*controlPlane).stop},
		{name: "start", weight: 3, ends: "stop", do: (*controlPlane).start},
		{name: "fail", weight: 5, do: (*controlPlane).failMachine},
		{name: "claim", weight: 1, do: (*controlPlane).claim},
		{name: "release", weight: 3, ends: "claim", do: (*controlPlane).release},
		{name: "hold", weight: 4, do: (*controlPlane).hold},
		{name: "remove hook", weight: 3, ends: "hold", do: (*controlPlane).removeHook},
		{name: "strip", weight: 4, do: (*controlPlane).strip},
		{name: "keep", weight: 4, ends: "strip", do: (*controlPlane).keep},
		{name: "pause", weight: 1, do: (*controlPlane).pause},
		{name: "resume", weight: 4, ends: "pause", do: (*controlPlane).resume},
		{name: "scale", weight: 3, do: (*controlPlane).scale},
		{name: rollOut, weight: 1, do: (*controlPlane).rollOutAll},
		{name: "renew", weight: 1, do: (*controlPlane).renew},
		{name: announce, weight: 6, do: (*controlPlane).announce},
		{name: upgrade, weight: 3, do: (*controlPlane).upgrade},
	}
}

// do runs one step.
func (p *controlPlane) do(ctx context.Context, s step) error {
	if s.when != never {
		// There may be no move, or it may be past that phase.
		_ = p.await(ctx, amidLimit, string(s.when), func(m moment) bool { return reached(s.when, m) || p.asIntended(m) && settled(m) })
	}
	p.arm(s.kill)
	all := acts()
	return all[slices.IndexFunc(all, func(a act) bool { return a.name == s.act })].do(p, ctx, s)
}

// endFaults undoes everything that keeps a control plane from settling. The intents of failure domains stay.
func (p *controlPlane) endFaults(ctx context.Context) error {
	for _, a := range acts() {
		if a.ends == "" {
			continue
		}
		if err := a.do(p, ctx, step{}); err != nil {
			return err
		}
	}
	if p.recorder.last().heldBack {
		if err := p.upgrade(ctx, step{}); err != nil {
			return err
		}
	}
	return p.addCapacity(ctx)
}

// addCapacity adds capacity if the provider does not count it: a machine that waits for capacity keeps the control plane from
// settling, and an administrator would add some. With providers that count capacity, a move that finds none does not begin, so the
// control plane settles.
func (p *controlPlane) addCapacity(ctx context.Context) error {
	uncounted, is := p.environment.sites.(provider.UncountedCapacity)
	if !is || !p.tight() {
		return nil
	}
	for _, domain := range p.domainNames() {
		if err := uncounted.AddCapacity(ctx, domain, roomy); err != nil {
			return fmt.Errorf("adding capacity to %s: %w", domain, err)
		}
	}
	p.recorder.done(ctx, "add capacity", func(m *moment) { m.capacity = 0 })
	return nil
}

// setDomainState sets the intent of a failure domain. One domain always stays Active.
func (p *controlPlane) setDomainState(ctx context.Context, s step, state faultlinev1.DomainState) error {
	from := slices.DeleteFunc(p.domainNames(), func(name string) bool { return p.intended(name) == state })
	if occupied := slices.DeleteFunc(slices.Clone(from), func(name string) bool { return !p.holds(name) }); state == faultlinev1.DomainEvicting && len(occupied) > 0 {
		from = occupied
	}
	name, ok := picked(s, from)
	if !ok {
		return nil
	}
	active := slices.DeleteFunc(p.domainNames(), func(other string) bool { return other == name || p.intended(other) != faultlinev1.DomainActive })
	if state != faultlinev1.DomainActive && len(active) == 0 {
		return nil
	}
	return p.intend(ctx, name, state)
}

// intend sets the intent of a failure domain.
func (p *controlPlane) intend(ctx context.Context, domain string, state faultlinev1.DomainState) error {
	p.intents[domain] = state
	var listed []any
	for _, name := range sortedKeys(p.intents) {
		listed = append(listed, map[string]any{"name": name, "state": string(p.intents[name])})
	}
	p.recorder.done(ctx, fmt.Sprintf("set %s to %s", domain, state))
	return p.patch(ctx, p.infra, map[string]any{"spec": map[string]any{"distribution": map[string]any{"failureDomains": listed}}})
}

// holds reports whether a failure domain has machines.
func (p *controlPlane) holds(domain string) bool {
	return p.recorder.last().any(func(is machine) bool { return is.domain == domain })
}

// intended returns the intent of a failure domain.
func (p *controlPlane) intended(domain string) faultlinev1.DomainState {
	if state, ok := p.intents[domain]; ok {
		return state
	}
	return faultlinev1.DomainActive
}

// asIntended reports whether all failure domains have their intended state.
func (p *controlPlane) asIntended(m moment) bool {
	return len(m.states) == p.domains && !slices.ContainsFunc(p.domainNames(), func(name string) bool { return m.states[name] != p.intended(name) })
}

// over reports whether all failure domains have their intended state and no machine fails.
func (p *controlPlane) over(m moment) bool { return p.asIntended(m) && !m.failing() }

// lose takes power from a failure domain and everything in it.
func (p *controlPlane) lose(ctx context.Context, s step) error {
	if p.outage() {
		return nil
	}
	p.lost, _ = picked(s, p.domainNames())
	p.recorder.done(ctx, "lose "+p.lost)
	_, err := p.environment.sites.Break(ctx, p.lost)
	return err
}

// outage reports whether machines have lost power or a Node is stopped.
func (p *controlPlane) outage() bool { return p.lost != "" || p.stopped != "" }

func (p *controlPlane) restore(ctx context.Context, _ step) error {
	if p.lost == "" {
		return nil
	}
	p.recorder.done(ctx, "restore "+p.lost)
	_, err := p.environment.sites.Repair(ctx, p.lost)
	p.lost = ""
	return err
}

// stop stops a Node and its etcd member.
func (p *controlPlane) stop(ctx context.Context, s step) error {
	is, ok := picked(s, p.recorder.last().those(machine.healthy))
	if p.outage() || !ok {
		return nil
	}
	p.stopped = is.name
	p.recorder.done(ctx, "stop "+is.name)
	// The machine may be deleted at this moment.
	_ = p.environment.Workload.SetNodeReady(ctx, p.key(is.name), false)
	return nil
}

func (p *controlPlane) start(ctx context.Context, _ step) error {
	if p.stopped == "" {
		return nil
	}
	p.recorder.done(ctx, "start "+p.stopped)
	_ = p.environment.Workload.SetNodeReady(ctx, p.key(p.stopped), true)
	p.stopped = ""
	return nil
}

// deleteMachine deletes a Machine, as a careful user does: while all others are healthy.
func (p *controlPlane) deleteMachine(ctx context.Context, s step) error {
	m := p.recorder.last()
	is, ok := picked(s, m.those(machine.healthy))
	if p.outage() || !m.complete() || !ok {
		return nil
	}
	return p.deleteAsPerson(ctx, is.name)
}

func (p *controlPlane) deleteAsPerson(ctx context.Context, name string) error {
	p.recorder.done(ctx, "delete "+name, func(m *moment) { m.edit(name, func(is *machine) { is.deletedByPerson = true }) })
	return client.IgnoreNotFound(p.client.Delete(ctx, p.machine(name)))
}

// failMachine makes a Machine fail its health check with remediate-machine, as a user does, whether it has joined or not, while all others are
// healthy. During a move it is often the moving machine or its replacement.
func (p *controlPlane) failMachine(ctx context.Context, s step) error {
	m := p.recorder.last()
	from := m.those(func(is machine) bool { return !is.deleting })
	if of := m.those(func(is machine) bool { return !is.deleting && (!is.ready || is.touched()) }); len(of) > 0 && s.pick%moved > 0 {
		from = of
	}
	is, ok := picked(s, from)
	// With little capacity a machine may wait for it indefinitely, and the control plane remediates no machine meanwhile.
	if p.outage() || p.tight() || m.failing() || !ok {
		return nil
	}
	p.recorder.done(ctx, "fail "+is.name)
	return p.annotate(ctx, p.machine(is.name), clusterv1.RemediateMachineAnnotation, "")
}

// endRemediation removes the annotation of a finished remediation, as the condition asks.
func (p *controlPlane) endRemediation(ctx context.Context) error {
	p.recorder.done(ctx, "remove remediation-in-progress")
	return p.annotate(ctx, p.object, controlplanev1.RemediationInProgressAnnotation, nil)
}

// claim marks a Machine to be deleted first, as a user or an autoscaler does. A conflict is ignored.
func (p *controlPlane) claim(ctx context.Context, s step) error {
	is, ok := picked(s, p.recorder.last().those(machine.healthy))
	if p.claimed != "" || !ok {
		return nil
	}
	object := p.machine(is.name)
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if _, marked := object.Annotations[clusterv1.DeleteMachineAnnotation]; marked {
		return nil
	}
	before := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, clusterv1.DeleteMachineAnnotation, "")
	if err := p.client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ignoreLost(err)
	}
	p.claimed = is.name
	p.recorder.done(ctx, "claim "+is.name)
	return nil
}

// release removes that mark.
func (p *controlPlane) release(ctx context.Context, _ step) error {
	name := p.claimed
	p.claimed = ""
	if is, there := p.recorder.last().named(name); !there || !is.claimed {
		return nil
	}
	p.recorder.done(ctx, "release "+name, func(m *moment) { m.edit(name, func(is *machine) { is.releasedByPerson = true }) })
	return p.annotate(ctx, p.machine(name), clusterv1.DeleteMachineAnnotation, nil)
}

// holdAnnotation holds the deletion of a Machine before its Node is drained.
const holdAnnotation = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/storm"

// hold keeps a Machine from being deleted, so that a rollout stops there. It is often a moving machine.
func (p *controlPlane) hold(ctx context.Context, s step) error {
	m := p.recorder.last()
	from := m.machines
	if moving := m.those(machine.touched); len(moving) > 0 && s.pick%moved > 0 {
		from = moving
	}
	is, ok := picked(s, from)
	if p.held != "" || !ok {
		return nil
	}
	p.held = is.name
	p.recorder.done(ctx, "hold "+is.name)
	return p.annotate(ctx, p.machine(is.name), holdAnnotation, "")
}

func (p *controlPlane) removeHook(ctx context.Context, _ step) error {
	if p.held == "" {
		return nil
	}
	name := p.held
	p.held = ""
	p.recorder.done(ctx, "remove hook of "+name)
	return p.annotate(ctx, p.machine(name), holdAnnotation, nil)
}

func (p *controlPlane) pause(ctx context.Context, _ step) error {
	p.recorder.done(ctx, "pause")
	return p.annotate(ctx, p.object, clusterv1.PausedAnnotation, "")
}

func (p *controlPlane) resume(ctx context.Context, _ step) error {
	p.recorder.done(ctx, "resume")
	return p.annotate(ctx, p.object, clusterv1.PausedAnnotation, nil)
}

// scale scales from three to five machines, or back.
func (p *controlPlane) scale(ctx context.Context, _ step) error {
	p.recorder.done(ctx, "scale")
	return p.changeSpec(ctx, map[string]any{"replicas": 8 - p.recorder.last().replicas})
}

// rollOutAll replaces all machines with rollout.after.
func (p *controlPlane) rollOutAll(ctx context.Context, _ step) error {
	asked := time.Now().UTC().Truncate(time.Second)
	p.recorder.done(ctx, rollOut, func(m *moment) { m.asked = asked })
	return p.changeSpec(ctx, map[string]any{"rollout": map[string]any{"after": asked.Format(time.RFC3339)}})
}

// renew replaces the infrastructure template with one of another name.
func (p *controlPlane) renew(ctx context.Context, _ step) error {
	p.renewed++
	template := p.template.DeepCopy()
	template.SetName(fmt.Sprintf("%s-%d", p.name(), p.renewed))
	if err := provider.Create(ctx, p.client, template); err != nil {
		return err
	}
	p.recorder.done(ctx, "renew")
	return p.changeSpec(ctx, map[string]any{"machineTemplate": map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"name": template.GetName()}}}})
}

// upgrade upgrades Kubernetes, once.
func (p *controlPlane) upgrade(ctx context.Context, s step) error {
	if err := p.announce(ctx, s); err != nil {
		return err
	}
	p.recorder.done(ctx, upgrade, func(m *moment) { m.heldBack = false })
	return p.changeSpec(ctx, map[string]any{"version": p.environment.kind.upgraded})
}

// changeSpec changes the spec of the control plane.
func (p *controlPlane) changeSpec(ctx context.Context, spec map[string]any) error {
	return p.patch(ctx, p.object, map[string]any{"spec": spec})
}

// annotate sets an annotation, or removes it if value is nil. The object may be deleted at this moment.
func (p *controlPlane) annotate(ctx context.Context, object client.Object, key string, value any) error {
	return ignoreLost(p.patch(ctx, object, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}))
}

func (p *controlPlane) patch(ctx context.Context, object client.Object, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	object = object.DeepCopyObject().(client.Object)
	if err := provider.Insist(func() error { return p.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, body)) }); err != nil {
		return fmt.Errorf("changing %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// ignoreLost ignores conflicts and deleted objects.
func ignoreLost(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
