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

	"github.com/vmware/govmomi/pbm"
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

const (
	maxPolicyNames = 20               // maximum number of policies in a message
	policyNamesAge = 10 * time.Minute // how long policy names are cached
	missAge        = 5 * time.Second  // how long it is cached that a policy or a compatible datastore does not exist
	answerAge      = time.Minute      // how long the compatibility of a policy and a datastore is cached
)

// storagePolicies makes no call before a virtual machine names a policy. It reads all names at once, because vCenter lists only
// identifiers. It caches the compatibility of policies and datastores for answerAge, for all machines.
type storagePolicies struct {
	wire    soap.RoundTripper
	slots   transport.Slots
	index   *inventory.Index
	api     *transport.SOAPClient // for calls to vCenter itself
	content *pbmtypes.PbmServiceInstanceContent
	reading transport.Slots // to make calls, and to use the fields above and below

	names   map[string]string // identifiers
	readAt  time.Time
	answers map[policyAt]answer
	space   space
}

// newStoragePolicies returns storagePolicies without making a call. It calls the service through wire, and vCenter itself
// through api.
func newStoragePolicies(wire soap.RoundTripper, slots transport.Slots, index *inventory.Index, api *transport.SOAPClient) *storagePolicies {
	return &storagePolicies{wire: wire, slots: slots, index: index, api: api, reading: transport.OneSlot(), answers: map[policyAt]answer{}}
}

// Policy returns the identifier of the storage policy that a field names.
func (s *storagePolicies) Policy(ctx context.Context, field, name string) (string, error) {
	release, err := s.reading.Acquire(ctx)
	if err != nil {
		return "", fmt.Errorf("reading storage policies: %w", err)
	}
	defer release()
	return s.identify(ctx, field, name)
}

func (s *storagePolicies) identify(ctx context.Context, field, name string) (string, error) {
	id, known := s.names[name]
	age := time.Since(s.readAt)
	if known && age < policyNamesAge {
		return id, nil
	}
	if known || age >= missAge || s.names == nil {
		if err := s.readNames(ctx); err != nil {
			return "", err
		}
	}
	if id, known = s.names[name]; known {
		return id, nil
	}
	detail := "vCenter shows no policies to this account: give it the privilege StorageProfile.View on the vCenter itself, or remove " + field
	if len(s.names) > 0 {
		all := slices.Sorted(maps.Keys(s.names))
		detail = fmt.Sprintf("use one of %s", strings.Join(all[:min(len(all), maxPolicyNames)], ", "))
	}
	return "", &vcerrors.LookupError{Field: field, Value: name, Err: vcerrors.ErrNotFound, Detail: detail}
}

// readNames reads all policies for disks.
func (s *storagePolicies) readNames(ctx context.Context) error {
	began, names := time.Now(), map[string]string{}
	err := s.do(ctx, "reading storage policies", func(ctx context.Context, rt soap.RoundTripper) error {
		listed, err := pbmmethods.PbmQueryProfile(ctx, rt, &pbmtypes.PbmQueryProfile{
			This:            s.content.ProfileManager,
			ResourceType:    pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
			ProfileCategory: string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT),
		})
		if err != nil || len(listed.Returnval) == 0 {
			return err
		}
		read, err := pbmmethods.PbmRetrieveContent(ctx, rt, &pbmtypes.PbmRetrieveContent{This: s.content.ProfileManager, ProfileIds: listed.Returnval})
		if err != nil {
			return err
		}
		for _, policy := range read.Returnval {
			names[policy.GetPbmProfile().Name] = policy.GetPbmProfile().ProfileId.UniqueId
		}
		return nil
	})
	if errors.Is(err, vcerrors.ErrInvalid) { // one of them was deleted after they were listed
		return fmt.Errorf("%w: %v", vcerrors.ErrUnavailable, err) //nolint:errorlint // the specification is not at fault
	}
	if err != nil {
		return err
	}
	s.names, s.readAt = names, began
	return nil
}

// do runs calls to the service.
func (s *storagePolicies) do(ctx context.Context, doing string, f func(context.Context, soap.RoundTripper) error) error {
	return s.slots.Run(ctx, doing, classify, func(ctx context.Context) error {
		if err := s.open(ctx); err != nil {
			return err
		}
		return f(ctx, s.wire)
	})
}

// open retrieves the references of the service's managers, once.
func (s *storagePolicies) open(ctx context.Context) error {
	if s.content != nil {
		return nil
	}
	res, err := pbmmethods.PbmRetrieveServiceContent(ctx, s.wire, &pbmtypes.PbmRetrieveServiceContent{This: pbm.ServiceInstance})
	if err == nil {
		s.content = &res.Returnval
	}
	return err
}

// classify classifies an error of the service. As with the REST API, a failure of the service means nothing for the session of
// the SOAP API, whose own calls detect its state.
func classify(err error) error {
	if soap.IsSoapFault(err) {
		if _, refused := soap.ToSoapFault(err).VimFault().(pbmtypes.PbmFaultNoPermission); refused {
			return fmt.Errorf("%w: privilege StorageProfile.View on the vCenter itself is required", vcerrors.ErrForbidden)
		}
	}
	classified := vcerrors.Classify(err)
	if vcerrors.NoSession(classified) {
		return fmt.Errorf("%w: storage policy service: %v", vcerrors.ErrUnavailable, err) //nolint:errorlint // it must not be taken for the session's
	}
	return classified
}

// policyAt is the key of a cached answer.
type policyAt struct {
	policy    string
	datastore inventory.Ref
}

// answer holds why the datastore is incompatible with the policy, or "" if it is compatible.
type answer struct {
	reason string
	at     time.Time
}

// check returns why each datastore is incompatible with a policy, or "" if it is compatible. It makes one call for all
// datastores, or none if the answers are cached. An answer without any compatible datastore is cached only briefly, because the
// user is likely to fix it.
func (s *storagePolicies) check(ctx context.Context, policy string, datastores []inventory.Ref) (map[inventory.Ref]string, error) {
	oldest, none := time.Duration(0), true
	for _, datastore := range datastores {
		known := s.answers[policyAt{policy, datastore}]
		oldest, none = max(oldest, time.Since(known.at)), none && known.reason != ""
	}
	if oldest >= answerAge || none && oldest >= missAge {
		if err := s.ask(ctx, policy, datastores); err != nil {
			return nil, err
		}
	}
	reasons := map[inventory.Ref]string{}
	for _, datastore := range datastores {
		reasons[datastore] = s.answers[policyAt{policy, datastore}].reason
	}
	return reasons, nil
}

func (s *storagePolicies) ask(ctx context.Context, policy string, datastores []inventory.Ref) error {
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
	err := s.do(ctx, "listing the datastores of a storage policy", func(ctx context.Context, rt soap.RoundTripper) error {
		request.This = s.content.PlacementSolver
		res, err := pbmmethods.PbmCheckRequirements(ctx, rt, request)
		if err == nil {
			results = res.Returnval
		}
		return err
	})
	if err != nil {
		return err
	}
	s.forgetOld()
	for _, datastore := range datastores {
		s.answers[policyAt{policy, datastore}] = answer{"not matched by the policy", began}
	}
	for _, result := range results {
		at := policyAt{policy, inventory.Ref{Type: result.Hub.HubType, Value: result.Hub.HubId}}
		if _, requested := s.answers[at]; requested {
			s.answers[at] = answer{whyNot(result.Error), began}
		}
	}
	return nil
}

// forgetOld drops expired answers, which bounds memory when datastores and policies are deleted.
func (s *storagePolicies) forgetOld() {
	maps.DeleteFunc(s.answers, func(_ policyAt, a answer) bool { return time.Since(a.at) >= answerAge })
}

func whyNot(problems []types.LocalizedMethodFault) string {
	if len(problems) == 0 {
		return ""
	}
	text := vcerrors.OfTask(problems[0]).Error()
	return "not compatible: " + strings.TrimPrefix(text, vcerrors.ErrTaskFailed.Error()+": ")
}
