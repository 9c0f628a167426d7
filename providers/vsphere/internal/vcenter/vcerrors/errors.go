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

// What can go wrong, to be matched with errors.Is. The error's text says what, where, and what to do.
var (
	ErrNotFound      = errors.New("not found")
	ErrAmbiguous     = errors.New("ambiguous")
	ErrInvalid       = errors.New("invalid")
	ErrDuplicateName = errors.New("the name is taken")
	ErrNoSnapshot    = errors.New("no such snapshot")
	ErrNoKeyProvider = errors.New("no key provider")
	ErrTaskFailed    = errors.New("the task failed") // every failed task, whatever else its error matches
	ErrForbidden     = errors.New("the account lacks a privilege")
	ErrNoTools       = errors.New("VMware Tools do not run in the guest")
	ErrUnsupported   = errors.New("the host does not support it")       // of a task only
	ErrNoCapacity    = errors.New("no host has what the machine needs") // of a task only

	// These say in which state a virtual machine is that an operation cannot be carried out in. It may be the one that was asked for.
	ErrPoweredOn  = errors.New("the virtual machine is powered on")
	ErrPoweredOff = errors.New("the virtual machine is powered off")
	ErrUpgraded   = errors.New("the virtual hardware has that version, or a newer one")

	// These say that there is no session. SessionUp follows when there is one again.
	ErrUnreachable  = errors.New("vCenter cannot be reached")
	ErrUnauthorized = errors.New("vCenter refuses the account")
	ErrThumbprint   = errors.New("vCenter's certificate has another thumbprint")
	ErrUntrusted    = errors.New("vCenter's certificate is not trusted")
	ErrConnecting   = errors.New("connecting to vCenter")
	ErrTooMany      = errors.New("too many vCenter sessions") // no event follows

	// ErrUnavailable says that vCenter is there but could not serve this call now. No event follows: try again.
	ErrUnavailable = errors.New("vCenter is busy")
)

// LookupError says that a field of a specification names nothing, or too much.
type LookupError struct {
	Field  string // datacenter, computeCluster, resourcePool, folder, datastore, network, host or template
	Value  string
	Err    error  // ErrNotFound, ErrAmbiguous or ErrInvalid
	Detail string // what there is, and the way out
}

func (e *LookupError) Error() string {
	text := fmt.Sprintf("%s %q: %v", e.Field, e.Value, e.Err)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

func (e *LookupError) Unwrap() error { return e.Err }

// Classify turns what a call answered into one of the package's errors.
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
		err = transport.Err // without the method and address, which say nothing to the reader
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, text.SteadyError(err))
}

// OfSession classifies what keeps a session from coming up or ended it. It matches one of sessionKinds, because nothing
// else can be said of a session.
func OfSession(err error) error {
	err = Classify(err)
	switch {
	case sessionKind(err) != nil:
		return err
	case errors.Is(err, ErrForbidden): // vCenter's answer to the login of an account that has no role anywhere
		return fmt.Errorf("%w: %w", ErrUnauthorized, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// sessionKinds are the reasons for which there is no session.
var sessionKinds = []error{ErrUnauthorized, ErrThumbprint, ErrUntrusted, ErrConnecting, ErrTooMany, ErrUnreachable} //nolint:gochecknoglobals // never changed

// NoSession reports whether err says why there is no session. It ends by a SessionUp event.
func NoSession(err error) bool { return sessionKind(err) != nil }

// OfTask turns the fault that ended a task into an error. Every one matches ErrTaskFailed, and its kind if it has one.
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

// kindOfRefusal is that of a call which vCenter did not accept. In the wrong state it is invalid, too.
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

// kindOfFault returns nil for a fault that has no meaning of its own here.
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

// kindOfPowerState goes by the state that the virtual machine is in. Which one the operation requires is told in more than one way.
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

// kindOfHardwareFault tells what a host cannot do from what no host can do now. That a host is full has a fault for each thing
// that it may lack; a device that does not start, as one that is in use, is a fault of no particular kind.
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

// faultText prefers what the fault itself knows to the message of the server, which is not always meant for people.
func faultText(detail types.AnyType, message string) string {
	var duplicate *types.DuplicateName
	var missing *types.NoPermission
	if detail != nil {
		if _, ok := fault.As(pointer(detail), &duplicate); ok {
			return fmt.Sprintf("%q exists already", duplicate.Name)
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

// privileges says what the account needs and where. vSphere 8 lists it by object, older ones name the first.
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
	return fmt.Sprintf("privilege %s is needed", strings.Join(needed, ", "))
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

// Redact keeps a password out of a text that is going to be shown.
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
