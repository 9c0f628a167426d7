// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcerrors

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/shared/text"
)

// Errors to match with errors.Is. The error text states what failed, where, and how to fix it.
var (
	ErrNotFound      = errors.New("not found")
	ErrAmbiguous     = errors.New("ambiguous")
	ErrInvalid       = errors.New("invalid")
	ErrDuplicateName = errors.New("the name is already in use")
	ErrNoSnapshot    = errors.New("snapshot not found")
	ErrNoKeyProvider = errors.New("no key provider found")
	ErrTaskFailed    = errors.New("the task failed") // every failed task, in addition to what its error matches
	ErrForbidden     = errors.New("the account lacks a privilege")
	ErrNoTools       = errors.New("VMware Tools are not running in the guest")
	ErrUnsupported   = errors.New("the host does not support it")                        // from a task only
	ErrNoCapacity    = errors.New("no host has the resources that the machine requires") // from a task only

	// The virtual machine is in a state in which the operation is not possible. It may already be the requested state.
	ErrPoweredOn  = errors.New("the virtual machine is powered on")
	ErrPoweredOff = errors.New("the virtual machine is powered off")
	ErrUpgraded   = errors.New("the virtual hardware already has that version or a newer one")

	// There is no session. A SessionUp event follows when there is one again.
	ErrUnreachable  = errors.New("vCenter cannot be reached")
	ErrUnauthorized = errors.New("vCenter rejected the account")
	ErrThumbprint   = errors.New("vCenter's certificate has a different thumbprint")
	ErrUntrusted    = errors.New("vCenter's certificate is not trusted")
	ErrConnecting   = errors.New("connecting to vCenter")
	ErrTooMany      = errors.New("too many vCenter sessions") // no event follows

	// ErrUnavailable means that vCenter is reachable but could not serve this call. No event follows: the caller must retry.
	ErrUnavailable = errors.New("vCenter is busy")
)

// LookupError reports that a field of a specification matches no object, or more than one.
type LookupError struct {
	Field  string // datacenter, computeCluster, resourcePool, folder, datastore, network, host or template
	Value  string
	Err    error  // ErrNotFound, ErrAmbiguous or ErrInvalid
	Detail string // what exists, and how to fix the field
}

func (e *LookupError) Error() string {
	text := fmt.Sprintf("%s %q: %v", e.Field, e.Value, e.Err)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

func (e *LookupError) Unwrap() error { return e.Err }

// Classify returns the error of a call as one of this package's errors.
func Classify(err error) error {
	var pinned *thumbprintError
	var unknown *tls.CertificateVerificationError
	var transport *url.Error
	switch {
	case err == nil, errors.Is(err, ErrUnreachable):
		return err
	case errors.As(err, &pinned):
		return fmt.Errorf("%w: %s", ErrThumbprint, pinned.detail)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: %s", ErrUntrusted, distrusted(unknown))
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: it did not answer in time", ErrUnavailable)
	case soap.IsSoapFault(err):
		failed := soap.ToSoapFault(err)
		return fmt.Errorf("%w: %s", kindOfRefusal(err), faultText(failed.VimFault(), failed.String))
	case soap.IsVimFault(err):
		return fmt.Errorf("%w: %s", kindOfRefusal(err), faultText(soap.ToVimFault(err), ""))
	case errors.As(err, &transport):
		err = transport.Err // without the method and address, which do not help the user
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, text.SteadyError(err))
}

// OfSession classifies the error that prevents or ended a session. The result matches one of sessionKinds, the only errors of a
// session.
func OfSession(err error) error {
	err = Classify(err)
	switch {
	case sessionKind(err) != nil:
		return err
	case errors.Is(err, ErrForbidden): // vCenter's response to a login with an account that has no role anywhere
		return fmt.Errorf("%w: %w", ErrUnauthorized, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// sessionKinds are the errors for which there is no session.
var sessionKinds = []error{ErrUnauthorized, ErrThumbprint, ErrUntrusted, ErrConnecting, ErrTooMany, ErrUnreachable} //nolint:gochecknoglobals // never changed

// NoSession reports whether err explains why there is no session. A SessionUp event follows when there is one again.
func NoSession(err error) bool { return sessionKind(err) != nil }

// OfTask returns the fault of a failed task as an error. It always matches ErrTaskFailed, and its kind if it has one.
func OfTask(failure types.LocalizedMethodFault) error {
	text := faultText(failure.Fault, failure.LocalizedMessage)
	if failure.Fault == nil {
		return fmt.Errorf("%w: %s", ErrTaskFailed, text)
	}
	if kind := cmp.Or(kindOfFault(failure.Fault), kindOfHardwareFault(failure.Fault)); kind != nil {
		return fmt.Errorf("%w: %w: %s", ErrTaskFailed, kind, text)
	}
	return fmt.Errorf("%w: %s", ErrTaskFailed, text)
}

// kindOfRefusal returns the kind of the error of a call that vCenter rejected. A call in the wrong state matches ErrInvalid,
// too.
func kindOfRefusal(err error) error {
	kind := kindOfFault(err)
	switch {
	case kind == nil:
		return ErrInvalid
	case errors.Is(kind, ErrPoweredOn), errors.Is(kind, ErrPoweredOff), errors.Is(kind, ErrUpgraded):
		return fmt.Errorf("%w: %w", ErrInvalid, kind)
	default:
		return kind
	}
}

// kindOfFault returns the kind of a fault, or nil if the fault has none.
func kindOfFault(err any) error {
	for _, known := range []struct {
		fault types.BaseMethodFault
		kind  error
	}{
		{&types.InvalidLogin{}, ErrUnauthorized},
		{&types.NotAuthenticated{}, ErrConnecting},
		{&types.NoPermission{}, ErrForbidden},
		{&types.ManagedObjectNotFound{}, ErrNotFound},
		{&types.DuplicateName{}, ErrDuplicateName},
		{&types.AlreadyExists{}, ErrDuplicateName},
		{&types.ToolsUnavailable{}, ErrNoTools},
		{&types.TaskInProgress{}, ErrUnavailable},
		{&types.ConcurrentAccess{}, ErrUnavailable},
		{&types.HostCommunication{}, ErrUnavailable},
		{&types.SystemError{}, ErrUnavailable},
		{&types.AlreadyUpgraded{}, ErrUpgraded},
	} {
		if fault.Is(err, known.fault) {
			return known.kind
		}
	}
	return kindOfPowerState(err)
}

// kindOfPowerState uses the current state of the virtual machine, because faults report the required state in more than one
// way.
func kindOfPowerState(err any) error {
	var invalid *types.InvalidPowerState
	if _, ok := fault.As(err, &invalid); !ok {
		return nil
	}
	switch invalid.ExistingState {
	case types.VirtualMachinePowerStatePoweredOn:
		return ErrPoweredOn
	case types.VirtualMachinePowerStatePoweredOff:
		return ErrPoweredOff
	default:
		return nil
	}
}

// kindOfHardwareFault distinguishes what a host does not support from what no host can provide now. There is a fault for each
// resource that a full host can lack. A device that does not start, for example because it is in use, has no specific fault.
func kindOfHardwareFault(detail types.BaseMethodFault) error {
	for _, known := range []types.BaseMethodFault{
		&types.VirtualHardwareVersionNotSupported{}, &types.NotSupported{}, &types.DeviceNotSupported{}, &types.InvalidDeviceSpec{},
	} {
		if fault.Is(detail, known) {
			return ErrUnsupported
		}
	}
	if _, ok := detail.(types.BaseInsufficientResourcesFault); ok || fault.Is(detail, &types.NoCompatibleHost{}) || fault.Is(detail, &types.GenericVmConfigFault{}) {
		return ErrNoCapacity
	}
	return nil
}

// faultText prefers the details of the fault to the server's message, which is not always readable.
func faultText(detail types.AnyType, message string) string {
	var duplicate *types.DuplicateName
	var missing *types.NoPermission
	if detail != nil {
		if _, ok := fault.As(pointer(detail), &duplicate); ok {
			return fmt.Sprintf("%q already exists", duplicate.Name)
		}
		if _, ok := fault.As(pointer(detail), &missing); ok {
			message = cmp.Or(privileges(missing), message)
		}
	}
	if message == "" && detail != nil {
		message = reflect.Indirect(reflect.ValueOf(detail)).Type().Name()
	}
	return message
}

// privileges returns which privileges the account needs and on what object. vSphere 8 lists them by object; older versions name
// only the first.
func privileges(missing *types.NoPermission) string {
	var needed []string
	for _, entity := range missing.MissingPrivileges {
		if len(entity.PrivilegeIds) > 0 {
			needed = append(needed, fmt.Sprintf("%s on %s", strings.Join(entity.PrivilegeIds, " and "), entity.Entity.Value))
		}
	}
	if len(needed) == 0 && missing.PrivilegeId != "" {
		needed = []string{missing.PrivilegeId}
		if missing.Object != nil {
			needed[0] += " on " + missing.Object.Value
		}
	}
	if len(needed) == 0 {
		return ""
	}
	return fmt.Sprintf("privilege %s is required", strings.Join(needed, ", "))
}

// pointer returns the fault by reference, the only form in which it is a BaseMethodFault: SOAP details are values.
func pointer(detail types.AnyType) any {
	value := reflect.ValueOf(detail)
	if value.Kind() == reflect.Pointer {
		return detail
	}
	p := reflect.New(value.Type())
	p.Elem().Set(value)
	return p.Interface()
}

// Redact removes a password from an error text that will be shown.
func Redact(err error, password string) error {
	if err == nil || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return &redacted{text: strings.ReplaceAll(err.Error(), password, "***"), kind: cmp.Or(sessionKind(err), ErrUnreachable)}
}

type redacted struct {
	text string
	kind error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.kind }

func sessionKind(err error) error {
	for _, kind := range sessionKinds {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}
