// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// placement returns the placement of the tests' virtual machines.
func placement() vcenter.Placement {
	return vcenter.Placement{
		Datacenter: "dc-1", ComputeCluster: "zone-a", Folder: "workload", Datastore: "datastore-a",
		Networks: []string{simulator.NetworkName},
	}
}

func uuid(i int) string { return fmt.Sprintf("11111111-2222-4333-8444-%012d", i) }

// cloneSpec returns a specification with all fields that the tests need.
func cloneSpec(t *testing.T, s *vcenter.Session, i int) vcenter.CloneSpec {
	t.Helper()
	resolved, err := s.Resolve(placement())
	if err != nil {
		t.Fatal(err)
	}
	template, err := s.Template("dc-1", simulator.TemplateName)
	if err != nil {
		t.Fatal(err)
	}
	return vcenter.CloneSpec{
		Name: fmt.Sprintf("vm-%d", i), InstanceUUID: uuid(i), Template: template, Placement: resolved,
		NICs: []vcenter.NICSpec{{Network: resolved.Networks[0]}},
	}
}

// finish waits until a task has ended.
func finish(t *testing.T, s *vcenter.Session, task string, err error) vcenter.Task {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var done vcenter.Task
	eventually(t, func() error {
		var ok bool
		if done, ok = s.Task(task); !ok || !done.Done() {
			return fmt.Errorf("task %s: %+v", task, done)
		}
		return nil
	})
	return done
}

// clone creates a virtual machine and waits for it.
func clone(t *testing.T, s *vcenter.Session, spec vcenter.CloneSpec) vcenter.VM {
	t.Helper()
	task, err := inTurn(func() (string, error) { return s.CloneVM(t.Context(), spec) })
	if done := finish(t, s, task, err); done.Err != nil {
		t.Fatal(done.Err)
	}
	return present(t, s, spec.InstanceUUID)
}

// inTurn retries a call that was not sent because too many others were in flight, which may take seconds on a busy machine.
func inTurn[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); !errors.Is(err, vcenter.ErrUnavailable) {
			return result, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

func byInstanceUUID(s *vcenter.Session, uuid string) (vcenter.VM, bool) {
	return first(s.Candidates(uuid, "", ""))
}

func present(t *testing.T, s *vcenter.Session, instance string) vcenter.VM {
	t.Helper()
	var vm vcenter.VM
	eventually(t, func() error {
		var ok bool
		if vm, ok = byInstanceUUID(s, instance); !ok || vm.HostRef == "" {
			return fmt.Errorf("%s is not there yet: %+v", instance, vm)
		}
		return nil
	})
	return vm
}

// bring provisions a virtual machine until it has an address, as a controller would.
func bring(t *testing.T, s *vcenter.Session, i int) {
	t.Helper()
	vm := clone(t, s, cloneSpec(t, s, i))
	nics, err := inTurn(func() ([]vcenter.NIC, error) { return s.NICs(t.Context(), vm.Ref) })
	if err != nil || len(nics) != 1 || nics[0].MAC == "" {
		t.Errorf("%s has the network cards %v, %v", vm.Name, nics, err)
	}
	task, err := inTurn(func() (string, error) {
		return s.SetExtraConfig(t.Context(), vm.Ref, map[string]string{
			"guestinfo.metadata": "aW5zdGFuY2UtaWQ6IGEK", "guestinfo.metadata.encoding": "base64",
		})
	})
	finish(t, s, task, err)
	if _, err = inTurn(func() (string, error) { return s.PowerOn(t.Context(), vm.Ref) }); err != nil {
		t.Error(err)
	}
	eventually(t, func() error {
		if now, _ := s.VMByRef(vm.Ref); now.Power != vcenter.PoweredOn || len(now.Guest) == 0 || len(now.Guest[0].IPs) == 0 {
			return errors.New("not up: " + now.Name)
		}
		return nil
	})
}

// ofStream are the calls that the stream itself makes, and the reads of tasks on which it lags. Their number depends on timing.
var ofStream = []string{
	"WaitForUpdatesEx", "CancelWaitForUpdates", "CreateFilter", "CreatePropertyCollector", "DestroyPropertyCollector", "ModifyListView",
	"RetrievePropertiesEx",
}

// total counts calls, except those of the stream.
func total(calls map[string]int) (n int) {
	for method, count := range calls {
		if !slices.Contains(ofStream, method) {
			n += count
		}
	}
	return n
}

// The benchmark shows the number of calls of each kind per machine.
func TestLifecycleCallsEachMethodOnce(t *testing.T) {
	t.Parallel()
	for _, vms := range []int{1, 40} {
		t.Run(fmt.Sprintf("%d virtual machines", vms), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, simulator.ThreeZones())
			s := r.session()
			clone(t, s, cloneSpec(t, s, 0)) // caches the template
			r.server.ResetCalls()

			var all sync.WaitGroup
			for i := range vms {
				all.Go(func() { bring(t, s, i+1) })
			}
			all.Wait()
			calls := r.server.Calls()
			t.Log(calls)
			for _, method := range []string{"CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"} {
				g.Expect(calls).To(HaveKeyWithValue(method, vms))
			}
			g.Expect(total(calls)).To(Equal(3*vms), "%v", calls)

			r.server.ResetCalls()
			const reads = 50
			for range reads {
				byInstanceUUID(s, uuid(1))
			}
			g.Expect(total(r.server.Calls())).To(BeZero(), "reads are free")
			g.Expect(r.server.Calls()["RetrievePropertiesEx"]).To(BeNumerically("<", reads), "a task may be looked at again, no machine is")
		})
	}
}
