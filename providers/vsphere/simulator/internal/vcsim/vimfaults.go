// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// SystemFault returns vCenter's generic fault with a reason.
func SystemFault(reason string) *types.SystemError {
	return &types.SystemError{Reason: reason}
}

// faultOf returns the fault in a SOAP fault.
func faultOf(f *soap.Fault) types.BaseMethodFault {
	if fault, ok := f.VimFault().(types.BaseMethodFault); ok {
		return fault
	}
	return SystemFault(f.String)
}

// notAuthenticated returns the fault for a call without a session.
func notAuthenticated(ref types.ManagedObjectReference) *types.NotAuthenticated {
	return &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &ref, PrivilegeId: "System.View"}}
}

// faultMessage returns vCenter's message for a fault.
func faultMessage(fault types.BaseMethodFault) string {
	switch f := fault.(type) {
	case *types.SystemError:
		return f.Reason
	case *types.DuplicateName:
		return fmt.Sprintf("The name '%s' already exists.", f.Name)
	case *types.InvalidPowerState:
		return fmt.Sprintf("The attempted operation cannot be performed in the current state (%s).", powerName(f.ExistingState))
	case *types.ManagedObjectNotFound:
		return fmt.Sprintf("The object '%s:%s' has already been deleted or has not been completely created.", f.Obj.Type, f.Obj.Value)
	case *types.InvalidArgument:
		return "A specified parameter was not correct: " + f.InvalidProperty
	case *types.InvalidDatastore:
		return fmt.Sprintf("The datastore '%s' is not accessible from the host.", f.Name)
	case *types.GenericVmConfigFault:
		return f.Reason
	case *types.InvalidDeviceBacking:
		return "Invalid backing: " + f.Property
	}
	return fixedMessage(fault)
}

// fixedMessage returns the message of faults whose message is constant.
func fixedMessage(fault types.BaseMethodFault) string {
	switch fault.(type) {
	case *types.NoCompatibleHost:
		return "No host is compatible with the virtual machine."
	case *types.NotAuthenticated:
		return "The session is not authenticated."
	case *types.RequestCanceled:
		return "The task was canceled by a user."
	case *types.InvalidState:
		return "The operation is not allowed in the current state."
	case *types.HostNotConnected:
		return "Unable to communicate with the remote host, since it is disconnected."
	}
	if cause := fault.GetMethodFault().FaultCause; cause != nil && cause.LocalizedMessage != "" {
		return cause.LocalizedMessage
	}
	return "The operation failed: " + strings.TrimPrefix(fmt.Sprintf("%T", fault), "*types.")
}

func powerName(state types.VirtualMachinePowerState) string {
	switch state {
	case types.VirtualMachinePowerStatePoweredOn:
		return "Powered on"
	case types.VirtualMachinePowerStatePoweredOff:
		return "Powered off"
	}
	return "Suspended"
}
