// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

const (
	policyNamesAge  = 10 * time.Minute // of what policies are called
	policyMissAge   = 5 * time.Second  // of there being no policy of a name, or no datastore of a policy
	policyAnswerAge = time.Minute      // of what was said of a policy and a datastore
)

// Policies are the storage policies of a virtual machine, by identifier. Without any, vSphere's defaults apply: of a full
// clone the template's policies, where the datastore has them, else the datastore's own.
type Policies struct {
	Home, Disks string
	// Encrypting is the name of the one that encrypts the files of Home; "" if that is none of Home's purposes.
	Encrypting string
}

// applyTo says which policy is for what. Disks that are added have theirs already.
func (p Policies) applyTo(clone *types.VirtualMachineCloneSpec, devices object.VirtualDeviceList) {
	switch {
	case p.Encrypting != "":
		clone.Config.VmProfile = profile(p.Home)
	case p.Home != "":
		clone.Location.Profile = profile(p.Home)
	}
	if p.Disks == "" || clone.Location.Datastore == nil {
		return
	}
	for _, disk := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		clone.Location.Disk = append(clone.Location.Disk, types.VirtualMachineRelocateSpecDiskLocator{
			DiskId: disk.GetVirtualDevice().Key, Datastore: *clone.Location.Datastore, DiskMoveType: clone.Location.DiskMoveType,
			Profile: profile(p.Disks),
		})
	}
}

func profile(policy string) []types.BaseVirtualMachineProfileSpec {
	if policy == "" {
		return nil
	}
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: policy}}
}

// policyReader asks the storage policy service, which has an endpoint of its own and goes by the session of the SOAP API.
// It asks about nothing before a virtual machine names a policy. Names are read all at once, because the service lists
// identifiers only; what it says of a policy and datastores is believed for policyAnswerAge, whichever machine asks.
type policyReader struct {
	s       *Session
	wire    soap.RoundTripper
	content *pbmtypes.PbmServiceInstanceContent
	reading chan struct{} // a token to ask, and to use all of the above and below

	names   map[string]string // identifiers
	readAt  time.Time
	answers map[policyAt]answer
	space   space
}

func newPolicyReader(s *Session) *policyReader {
	client := s.client.NewServiceClient(pbm.Path, pbm.Namespace)
	client.UserAgent = s.opts.UserAgent
	client.Cookie = s.client.SessionCookie
	return &policyReader{s: s, wire: &meter{client, s.server, s.opts}, reading: make(chan struct{}, 1), answers: map[policyAt]answer{}}
}

// Policy returns the identifier of the storage policy that a field names.
func (s *Session) Policy(ctx context.Context, field, name string) (string, error) {
	p := s.policies
	if err := acquire(ctx, p.reading); err != nil {
		return "", fmt.Errorf("reading storage policies: %w", err)
	}
	defer func() { <-p.reading }()
	return p.identify(ctx, field, name)
}

func (p *policyReader) identify(ctx context.Context, field, name string) (string, error) {
	id, known := p.names[name]
	age := time.Since(p.readAt)
	if known && age < policyNamesAge {
		return id, nil
	}
	if known || age >= policyMissAge || p.names == nil {
		if err := p.readNames(ctx); err != nil {
			return "", err
		}
	}
	if id, known = p.names[name]; known {
		return id, nil
	}
	detail := "vCenter shows this account none: give it the privilege StorageProfile.View on the vCenter itself, or remove " + field
	if len(p.names) > 0 {
		all := slices.Sorted(maps.Keys(p.names))
		detail = fmt.Sprintf("name one of %s", strings.Join(all[:min(len(all), maxNamed)], ", "))
	}
	return "", &vcerrors.LookupError{Field: field, Value: name, Err: vcerrors.ErrNotFound, Detail: detail}
}

// readNames reads all policies for disks.
func (p *policyReader) readNames(ctx context.Context) error {
	began, names := time.Now(), map[string]string{}
	err := p.do(ctx, "reading storage policies", func(ctx context.Context, rt soap.RoundTripper) error {
		listed, err := pbmmethods.PbmQueryProfile(ctx, rt, &pbmtypes.PbmQueryProfile{
			This:            p.content.ProfileManager,
			ResourceType:    pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
			ProfileCategory: string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT),
		})
		if err != nil || len(listed.Returnval) == 0 {
			return err
		}
		read, err := pbmmethods.PbmRetrieveContent(ctx, rt, &pbmtypes.PbmRetrieveContent{This: p.content.ProfileManager, ProfileIds: listed.Returnval})
		if err != nil {
			return err
		}
		for _, policy := range read.Returnval {
			names[policy.GetPbmProfile().Name] = policy.GetPbmProfile().ProfileId.UniqueId
		}
		return nil
	})
	if errors.Is(err, vcerrors.ErrInvalid) { // one of them has gone since they were listed
		return fmt.Errorf("%w: %v", vcerrors.ErrUnavailable, err) //nolint:errorlint // it is no mistake of the specification
	}
	if err != nil {
		return err
	}
	p.names, p.readAt = names, began
	return nil
}

// do runs calls of the service.
func (p *policyReader) do(ctx context.Context, doing string, f func(context.Context, soap.RoundTripper) error) error {
	if err := acquire(ctx, p.s.slots); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer func() { <-p.s.slots }()
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := p.open(bounded)
	if err == nil {
		err = f(bounded, p.wire)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, policyError(err))
	}
	return nil
}

// open asks once what the service's parts are called.
func (p *policyReader) open(ctx context.Context) error {
	if p.content != nil {
		return nil
	}
	res, err := pbmmethods.PbmRetrieveServiceContent(ctx, p.wire, &pbmtypes.PbmRetrieveServiceContent{This: pbm.ServiceInstance})
	if err == nil {
		p.content = &res.Returnval
	}
	return err
}

// policyError classifies. A service that fails says nothing about the session of the SOAP API, as with the REST API: that
// session's own calls will tell.
func policyError(err error) error {
	if soap.IsSoapFault(err) {
		if _, refused := soap.ToSoapFault(err).VimFault().(pbmtypes.PbmFaultNoPermission); refused {
			return fmt.Errorf("%w: privilege StorageProfile.View on the vCenter itself is needed", vcerrors.ErrForbidden)
		}
	}
	classified := vcerrors.Classify(err)
	if vcerrors.NoSession(classified) {
		return fmt.Errorf("%w: its storage policy service: %v", vcerrors.ErrUnavailable, err) //nolint:errorlint // it must not be taken for the session's
	}
	return classified
}

// policyAt is what the service is asked about.
type policyAt struct {
	policy    string
	datastore inventory.Ref
}

// answer is what it said: why the datastore is not for the policy, "" if it is.
type answer struct {
	reason string
	at     time.Time
}

// check returns why each of the datastores is not compatible with a policy, "" for those that are: one call about all,
// unless that is known. That none is compatible is not believed for long: somebody is about to repair it.
func (p *policyReader) check(ctx context.Context, policy string, datastores []inventory.Ref) (map[inventory.Ref]string, error) {
	oldest, none := time.Duration(0), true
	for _, datastore := range datastores {
		known := p.answers[policyAt{policy, datastore}]
		oldest, none = max(oldest, time.Since(known.at)), none && known.reason != ""
	}
	if oldest >= policyAnswerAge || none && oldest >= policyMissAge {
		if err := p.ask(ctx, policy, datastores); err != nil {
			return nil, err
		}
	}
	reasons := map[inventory.Ref]string{}
	for _, datastore := range datastores {
		reasons[datastore] = p.answers[policyAt{policy, datastore}].reason
	}
	return reasons, nil
}

func (p *policyReader) ask(ctx context.Context, policy string, datastores []inventory.Ref) error {
	began := time.Now()
	request := &pbmtypes.PbmCheckRequirements{
		PlacementSubjectRequirement: []pbmtypes.BasePbmPlacementRequirement{
			&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: pbmtypes.PbmProfileId{UniqueId: policy}},
		},
	}
	for _, datastore := range datastores {
		request.HubsToSearch = append(request.HubsToSearch, pbmtypes.PbmPlacementHub{HubType: datastore.Type, HubId: datastore.Value})
	}
	var results []pbmtypes.PbmPlacementCompatibilityResult
	err := p.do(ctx, "looking for datastores of a storage policy", func(ctx context.Context, rt soap.RoundTripper) error {
		request.This = p.content.PlacementSolver
		res, err := pbmmethods.PbmCheckRequirements(ctx, rt, request)
		if err == nil {
			results = res.Returnval
		}
		return err
	})
	if err != nil {
		return err
	}
	p.forgetOld()
	for _, datastore := range datastores {
		p.answers[policyAt{policy, datastore}] = answer{"not one that the policy has", began}
	}
	for _, result := range results {
		at := policyAt{policy, inventory.Ref{Type: result.Hub.HubType, Value: result.Hub.HubId}}
		if _, asked := p.answers[at]; asked {
			p.answers[at] = answer{whyNot(result.Error), began}
		}
	}
	return nil
}

// forgetOld keeps datastores and policies that have gone from filling the memory.
func (p *policyReader) forgetOld() {
	maps.DeleteFunc(p.answers, func(_ policyAt, a answer) bool { return time.Since(a.at) >= policyAnswerAge })
}

func whyNot(problems []types.LocalizedMethodFault) string {
	if len(problems) == 0 {
		return ""
	}
	text := vcerrors.OfTask(problems[0]).Error()
	return "not compatible: " + strings.TrimPrefix(text, vcerrors.ErrTaskFailed.Error()+": ")
}
