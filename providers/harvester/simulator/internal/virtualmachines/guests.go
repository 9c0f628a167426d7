// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// Guests simulates the guests of all virtual machines.
type Guests struct {
	client client.Client
	leases *cluster.Leases
	hooks  Hooks
	faults *controllers.FaultTable
	// running holds the UIDs of instances whose boot has been reported to the hook.
	running sync.Map
}

// NewGuests returns guests that get their addresses from the leases and call the hooks.
func NewGuests(c client.Client, leases *cluster.Leases, hooks Hooks, faults *controllers.FaultTable) *Guests {
	return &Guests{client: c, leases: leases, hooks: hooks, faults: faults}
}

// Boot calls the hook for an instance that starts to run.
func (g *Guests) Boot(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
	if _, called := g.running.Load(vmi.UID); called || g.hooks.PowerOn == nil {
		return nil
	}
	vm := &kubevirtv1.VirtualMachine{}
	if err := g.client.Get(ctx, client.ObjectKeyFromObject(vmi), vm); err != nil {
		return fmt.Errorf("reading virtual machine: %w", err)
	}
	boot := Boot{VM: vm.DeepCopy(), VMI: vmi.DeepCopy()}
	var err error
	if boot.UserData, boot.NetworkData, err = g.cloudInit(ctx, vmi); err != nil {
		return err
	}
	if boot.Interfaces, err = g.interfaces(ctx, vmi); err != nil {
		return err
	}
	if err := g.hooks.PowerOn(ctx, boot); err != nil {
		return fmt.Errorf("powering on: %w", err)
	}
	g.running.Store(vmi.UID, true)
	return nil
}

// Stop calls the hook for an instance that has stopped.
func (g *Guests) Stop(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
	if g.hooks.PowerOff == nil || vmi.Status.NodeName == "" {
		return nil
	}
	if err := g.hooks.PowerOff(ctx, vmi.DeepCopy()); err != nil {
		return fmt.Errorf("powering off: %w", err)
	}
	return nil
}

// Erase calls the hook for a deleted virtual machine.
func (g *Guests) Erase(ctx context.Context, vm *kubevirtv1.VirtualMachine) error {
	if g.hooks.Erase == nil {
		return nil
	}
	if err := g.hooks.Erase(ctx, vm.DeepCopy()); err != nil {
		return fmt.Errorf("erasing: %w", err)
	}
	return nil
}

// Forget removes a deleted instance.
func (g *Guests) Forget(vmi *kubevirtv1.VirtualMachineInstance) { g.running.Delete(vmi.UID) }

// Report writes the interfaces of a running guest; the addresses are reported only with the guest agent.
func (g *Guests) Report(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance, agent bool) error {
	if !agent || g.faults.Has(controllers.NoAgents, vmi) || controllers.ConditionOf(vmi, kubevirtv1.VirtualMachineInstanceAgentConnected) != nil {
		return nil
	}
	found, err := g.interfaces(ctx, vmi)
	if err != nil || slices.ContainsFunc(found, func(nic kubevirtv1.VirtualMachineInstanceNetworkInterface) bool { return nic.IP == "" }) {
		return err
	}
	vmi.Status.Interfaces = found
	controllers.SetCondition(vmi, kubevirtv1.VirtualMachineInstanceAgentConnected, corev1.ConditionTrue, "", "")
	return nil
}

// interfaces returns the guest's interfaces, with addresses from cloud-init or DHCP.
func (g *Guests) interfaces(
	ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance,
) ([]kubevirtv1.VirtualMachineInstanceNetworkInterface, error) {
	_, data, err := g.cloudInit(ctx, vmi)
	if err != nil {
		return nil, err
	}
	static, err := staticAddresses(data)
	if err != nil {
		return nil, fmt.Errorf("reading network data: %w", err)
	}
	var out []kubevirtv1.VirtualMachineInstanceNetworkInterface
	for i, nic := range vmi.Spec.Domain.Devices.Interfaces {
		mac := macOf(vmi, nic)
		addresses := static.addressesOf(mac, i)
		if len(addresses) == 0 && !g.faults.Has(controllers.NoLeases, vmi) {
			if addresses, err = g.leasedAddresses(ctx, vmi, i); err != nil {
				return nil, err
			}
		}
		each := kubevirtv1.VirtualMachineInstanceNetworkInterface{
			Name: nic.Name, MAC: mac, IPs: addresses,
			InterfaceName: g.interfaceName(i), InfoSource: "domain, guest-agent", QueueCount: 1,
		}
		if len(addresses) > 0 {
			each.IP = addresses[0]
		}
		out = append(out, each)
	}
	return out, nil
}

// macOf returns the MAC address of an interface. If the spec has none, it is generated, and the same each time the virtual
// machine starts.
func macOf(vmi *kubevirtv1.VirtualMachineInstance, nic kubevirtv1.Interface) string {
	owner := metav1.GetControllerOf(vmi)
	if nic.MacAddress != "" || owner == nil {
		return nic.MacAddress
	}
	return macFor(owner.UID, nic.Name)
}

// macFor returns the generated MAC address of a virtual machine's interface.
func macFor(vm types.UID, nic string) string {
	sum := sha256.Sum256([]byte(string(vm) + "/" + nic))
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", sum[0], sum[1], sum[2])
}

// interfaceName returns the guest's name of an interface.
func (g *Guests) interfaceName(i int) string {
	if i == 0 && g.hooks.NIC != "" {
		return g.hooks.NIC
	}
	return fmt.Sprintf("enp%ds0", i+1)
}

// leasedAddresses returns the addresses that the DHCP server of an interface's network leases to it.
func (g *Guests) leasedAddresses(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance, nic int) ([]string, error) {
	if nic > 0 || g.hooks.Address == nil {
		on := vmi.Spec.Domain.Devices.Interfaces[nic]
		return []string{g.leases.Lease(networkOf(vmi, on.Name), macOf(vmi, on)).String()}, nil
	}
	address, err := g.hooks.Address(ctx, vmi.DeepCopy())
	if err != nil {
		return nil, fmt.Errorf("getting the address from the hook: %w", err)
	}
	if address == "" {
		return nil, nil
	}
	return []string{address}, nil
}

// networkOf returns the network of an interface: namespace and name, or "pod".
func networkOf(vmi *kubevirtv1.VirtualMachineInstance, nic string) string {
	for _, network := range vmi.Spec.Networks {
		if network.Name == nic && network.Multus != nil {
			return cluster.Qualified(vmi.Namespace, network.Multus.NetworkName)
		}
	}
	return "pod"
}

// cloudInit returns the input of the guest's cloud-init.
func (g *Guests) cloudInit(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (userData, networkData []byte, err error) {
	for i := range vmi.Spec.Volumes {
		source := vmi.Spec.Volumes[i].CloudInitNoCloud
		if source == nil {
			continue
		}
		userData, networkData = []byte(source.UserData), []byte(source.NetworkData)
		if ref := source.UserDataSecretRef; ref != nil {
			if userData, err = g.secret(ctx, vmi.Namespace, ref.Name, "userdata", "userData"); err != nil {
				return nil, nil, err
			}
		}
		if ref := source.NetworkDataSecretRef; ref != nil {
			if networkData, err = g.secret(ctx, vmi.Namespace, ref.Name, "networkdata", "networkData"); err != nil {
				return nil, nil, err
			}
		}
	}
	return userData, networkData, nil
}

// secret returns the value of the first existing key, or nil if the Secret does not exist, because a guest boots without it as
// well.
func (g *Guests) secret(ctx context.Context, namespace, name string, keys ...string) ([]byte, error) {
	secret := &corev1.Secret{}
	if err := g.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	for _, key := range keys {
		if data, ok := secret.Data[key]; ok {
			return data, nil
		}
	}
	return nil, nil
}
