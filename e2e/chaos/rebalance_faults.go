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

// do runs one step, unless it has no target.
func (p *controlPlane) do(ctx context.Context, s step) error {
	if s.when != never {
		// There may be no move, or it may be past that phase.
		_ = p.await(ctx, amidLimit, string(s.when), func(m moment) bool { return reached(s.when, m) || p.asIntended(m) && settled(m) })
	}
	p.arm(s.kill)
	return p.perform(ctx, s)
}

func (p *controlPlane) perform(ctx context.Context, s step) error {
	if undo, ok := p.undoActs()[s.act]; ok {
		return undo(ctx)
	}
	if does, ok := p.acts()[s.act]; ok {
		return does(ctx, s)
	}
	return p.changeControlPlane(ctx, s)
}

// acts returns the acts that neither undo others nor change the control plane's object.
func (p *controlPlane) acts() map[act]func(context.Context, step) error {
	setDomainState := func(state faultlinev1.DomainState) func(context.Context, step) error {
		return func(ctx context.Context, s step) error { return p.setDomainState(ctx, s, state) }
	}
	return map[act]func(context.Context, step) error{
		cordon: setDomainState(faultlinev1.DomainCordoned), evict: setDomainState(faultlinev1.DomainEvicting), activate: setDomainState(faultlinev1.DomainActive),
		lose: p.lose, stop: p.stop, remove: p.deleteMachine, fail: p.failMachine, claim: p.claim, hold: p.hold, strip: p.strip, announce: p.announce,
	}
}

// undoActs returns the acts that undo others, except resume.
func (p *controlPlane) undoActs() map[act]func(context.Context) error {
	return map[act]func(context.Context) error{restore: p.restore, start: p.start, release: p.release, removeHook: p.removeHook, keep: p.keep}
}

// endFaults undoes everything that keeps a control plane from settling. The intents of failure domains stay.
func (p *controlPlane) endFaults(ctx context.Context) error {
	for _, undo := range p.undoActs() {
		if err := undo(ctx); err != nil {
			return err
		}
	}
	if err := p.addCapacity(ctx); err != nil {
		return err
	}
	if p.recorder.last().heldBack {
		if err := p.changeControlPlane(ctx, step{act: upgrade}); err != nil {
			return err
		}
	}
	return p.changeControlPlane(ctx, step{act: resume})
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
	p.recorder.done(ctx, "add capacity", func(s *state) { s.moment.capacity = 0 })
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
	p.recorder.done(ctx, fmt.Sprintf("set %s to %s", domain, state), nil)
	return p.patch(ctx, p.infra, map[string]any{"spec": map[string]any{"distribution": map[string]any{"failureDomains": listed}}})
}

// holds reports whether a failure domain has machines.
func (p *controlPlane) holds(domain string) bool {
	return slices.ContainsFunc(p.recorder.last().machines, func(is machine) bool { return is.domain == domain })
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

func (p *controlPlane) lose(ctx context.Context, s step) error {
	if p.lost != "" || p.stopped != "" {
		return nil
	}
	p.lost, _ = picked(s, p.domainNames())
	p.recorder.done(ctx, "lose "+p.lost, nil)
	_, err := p.environment.sites.Break(ctx, p.lost)
	return err
}

func (p *controlPlane) restore(ctx context.Context) error {
	if p.lost == "" {
		return nil
	}
	p.recorder.done(ctx, "restore "+p.lost, nil)
	_, err := p.environment.sites.Repair(ctx, p.lost)
	p.lost = ""
	return err
}

// stop stops a Node and its etcd member.
func (p *controlPlane) stop(ctx context.Context, s step) error {
	is, ok := picked(s, p.healthyMachines())
	if p.lost != "" || p.stopped != "" || !ok {
		return nil
	}
	p.stopped = is.name
	p.recorder.done(ctx, "stop "+is.name, nil)
	// The machine may be deleted at this moment.
	_ = p.environment.Workload.SetNodeReady(ctx, client.ObjectKey{Namespace: p.name(), Name: is.name}, false)
	return nil
}

func (p *controlPlane) start(ctx context.Context) error {
	if p.stopped == "" {
		return nil
	}
	p.recorder.done(ctx, "start "+p.stopped, nil)
	_ = p.environment.Workload.SetNodeReady(ctx, client.ObjectKey{Namespace: p.name(), Name: p.stopped}, true)
	p.stopped = ""
	return nil
}

// deleteMachine deletes a Machine, as a careful user does: while all others are healthy.
func (p *controlPlane) deleteMachine(ctx context.Context, s step) error {
	m := p.recorder.last()
	is, ok := picked(s, p.healthyMachines())
	if p.lost != "" || p.stopped != "" || !m.complete() || !ok {
		return nil
	}
	return p.deleteAsPerson(ctx, is)
}

// failMachine makes a Machine fail its health check, whether it has joined or not, while all others are healthy. During a move it is
// often the moving machine or its replacement.
func (p *controlPlane) failMachine(ctx context.Context, s step) error {
	m := p.recorder.last()
	from := slices.DeleteFunc(slices.Clone(m.machines), func(is machine) bool { return is.deleting })
	if of := slices.DeleteFunc(slices.Clone(from), func(is machine) bool { return is.ready && !is.touched() }); len(of) > 0 && s.pick%moved > 0 {
		from = of
	}
	is, ok := picked(s, from)
	// With little capacity a machine may wait for it indefinitely, and the control plane remediates no machine meanwhile.
	if p.lost != "" || p.stopped != "" || p.tight() || m.failing() || !ok {
		return nil
	}
	p.recorder.done(ctx, "fail "+is.name, nil)
	object := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: is.name}}
	return ignoreLost(p.patch(ctx, object, annotated(clusterv1.RemediateMachineAnnotation, "")))
}

// endRemediation removes the annotation of a finished remediation, as the condition asks.
func (p *controlPlane) endRemediation(ctx context.Context) error {
	p.recorder.done(ctx, "remove remediation-in-progress", nil)
	return p.patch(ctx, p.object(), annotated(controlplanev1.RemediationInProgressAnnotation, nil))
}

func (p *controlPlane) deleteAsPerson(ctx context.Context, is machine) error {
	p.recorder.done(ctx, "delete "+is.name, func(s *state) { s.deleted[is.uid] = true })
	object := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: is.name}}
	return client.IgnoreNotFound(p.client.Delete(ctx, object))
}

// healthyMachines returns the machines that are ready and not being deleted.
func (p *controlPlane) healthyMachines() []machine {
	return slices.DeleteFunc(slices.Clone(p.recorder.last().machines), func(is machine) bool { return is.deleting || !is.ready })
}

// claim marks a Machine to be deleted first. A conflict is ignored.
func (p *controlPlane) claim(ctx context.Context, s step) error {
	is, ok := picked(s, p.healthyMachines())
	if p.claimed != "" || !ok {
		return nil
	}
	object := &clusterv1.Machine{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.name(), Name: is.name}, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if _, marked := object.Annotations[clusterv1.DeleteMachineAnnotation]; marked {
		return nil
	}
	before := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, clusterv1.DeleteMachineAnnotation, "")
	err := p.client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return ignoreLost(err)
	}
	p.claimed = is.name
	p.recorder.done(ctx, "claim "+is.name, nil)
	return nil
}

// release removes that mark.
func (p *controlPlane) release(ctx context.Context) error {
	if p.claimed == "" {
		return nil
	}
	m := p.recorder.last()
	i := slices.IndexFunc(m.machines, func(is machine) bool { return is.name == p.claimed })
	p.claimed = ""
	if i < 0 || !m.machines[i].claimed {
		return nil
	}
	is := m.machines[i]
	p.recorder.done(ctx, "release "+is.name, func(s *state) { s.released[is.uid] = true })
	object := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: is.name}}
	return ignoreLost(p.patch(ctx, object, annotated(clusterv1.DeleteMachineAnnotation, nil)))
}

// ignoreLost ignores conflicts and deleted objects.
func ignoreLost(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// object returns the name of the control plane's object.
func (p *controlPlane) object() client.Object { return p.environment.kind.named(p.name(), p.name()) }

// changeControlPlane changes the control plane's object.
func (p *controlPlane) changeControlPlane(ctx context.Context, s step) error {
	var note func(*state)
	spec := map[string]any{}
	change := map[string]any{"spec": spec}
	switch s.act {
	case scale:
		spec["replicas"] = 8 - p.recorder.last().replicas
	case rollOut:
		asked := time.Now().UTC().Truncate(time.Second)
		note = func(s *state) { s.moment.asked = asked }
		spec["rollout"] = map[string]any{"after": asked.Format(time.RFC3339)}
	case renew:
		name, err := p.newTemplate(ctx)
		if err != nil {
			return err
		}
		spec["machineTemplate"] = map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"name": name}}}
	case upgrade:
		if err := p.announce(ctx, s); err != nil {
			return err
		}
		spec["version"], note = p.environment.kind.upgraded, func(s *state) { s.moment.heldBack = false }
	case pause:
		change = annotated(clusterv1.PausedAnnotation, "")
	case resume:
		change = annotated(clusterv1.PausedAnnotation, nil)
	}
	p.recorder.done(ctx, string(s.act), note)
	return p.patch(ctx, p.object(), change)
}

func annotated(key string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
}

// newTemplate creates a copy of the infrastructure template with a new name.
func (p *controlPlane) newTemplate(ctx context.Context) (string, error) {
	p.renewed++
	object := p.template.DeepCopy()
	object.SetName(fmt.Sprintf("%s-%d", p.name(), p.renewed))
	return object.GetName(), p.createObject(ctx, object)
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

// arm makes the manager be killed once when a move reaches a phase. All control planes share the manager, so others may cause kills as
// well.
func (p *controlPlane) arm(at phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed[at] = at != never
}

// observeTransition kills the manager when an armed phase is reached.
func (p *controlPlane) observeTransition(ctx context.Context, before, after moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, armed := range p.armed {
		if armed && !reached(at, before) && reached(at, after) {
			p.armed[at] = false
			p.killManager(ctx, string(at))
		}
	}
}

// reached reports whether a move is in a phase.
func reached(at phase, m moment) bool {
	has := func(is func(machine) bool) bool { return slices.ContainsFunc(m.machines, is) }
	switch at {
	case recorded:
		return m.move != nil
	case marked:
		return has(func(is machine) bool { return is.marked })
	case outdated:
		return has(func(is machine) bool { return is.outdated })
	case replaced:
		return m.move != nil && len(m.machines) > m.replicas
	case leaving:
		return has(func(is machine) bool { return is.touched() && is.deleting })
	case surging:
		return len(m.machines) > m.replicas
	case takenBack:
		return m.move != nil && m.move.Aborting != ""
	}
	return false
}

// killManager kills the manager in the background.
func (p *controlPlane) killManager(ctx context.Context, when string) {
	p.waiting.Go(func() {
		if done, err := p.environment.kill(ctx); err != nil {
			p.environment.Fail(fmt.Errorf("killing the manager: %w", err))
		} else if done {
			p.recorder.done(ctx, "killed when "+when, nil)
		}
	})
}
