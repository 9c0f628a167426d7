// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Policy is a storage policy for virtual machines.
type Policy struct {
	Name string
	// Datastores are the names of compatible datastores, in every datacenter.
	Datastores []string
	// Encrypts is true for an encryption policy.
	Encrypts bool
}

// Policies holds the storage policies, and the faults of the service.
type Policies struct {
	inventory *Inventory
	stock     bool // use vcsim's service and policies

	mu     sync.Mutex
	all    []storagePolicy
	denied bool
}

type storagePolicy struct {
	Policy
	id string
}

// NewPolicies returns the policies of a vCenter; with stock, vcsim's own policies are used, whatever is added.
func NewPolicies(i *Inventory, stock bool) *Policies {
	return &Policies{inventory: i, stock: stock}
}

// Add creates or replaces a storage policy with this name: it gets a new identifier.
func (p *Policies) Add(added Policy) {
	p.Remove(added.Name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, storagePolicy{added, uuid.NewString()})
}

// Remove deletes the storage policy with this name.
func (p *Policies) Remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(known storagePolicy) bool { return known.Name == name })
}

// SetAccess grants or revokes the account's privilege StorageProfile.View.
func (p *Policies) SetAccess(allowed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied = !allowed
}

// Find returns the policy with this identifier.
func (p *Policies) Find(id string) (Policy, bool) {
	found, ok := p.byID(id)
	return found.Policy, ok
}

func (p *Policies) byID(id string) (storagePolicy, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stock {
		return storagePolicy{Policy{Name: id}, id}, true
	}
	at := slices.IndexFunc(p.all, func(known storagePolicy) bool { return known.id == id })
	if at < 0 {
		return storagePolicy{}, false
	}
	return p.all[at], true
}

func (p *Policies) list() []storagePolicy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// refusal returns the fault for an account without the privilege.
func (p *Policies) refusal() *soap.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.denied {
		return nil
	}
	return simulator.Fault("Permission to perform this operation was denied.", &pbmtypes.PbmFaultNoPermission{})
}

// policyContent lists the implemented parts of the service.
func policyContent() pbmtypes.PbmServiceInstanceContent {
	part := func(kind, name string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: name}
	}
	return pbmtypes.PbmServiceInstanceContent{
		AboutInfo:                 pbmtypes.PbmAboutInfo{Name: "PBM", Version: "2.0", InstanceUuid: "e3f1e6a4-3a54-4ac0-8f10-1d9a5c3d9d2a"},
		SessionManager:            part("PbmSessionManager", "SessionManager"),
		CapabilityMetadataManager: part("PbmCapabilityMetadataManager", "CapabilityMetadataManager"),
		ProfileManager:            part("PbmProfileProfileManager", "ProfileManager"),
		ComplianceManager:         part("PbmComplianceManager", "complianceManager"),
		PlacementSolver:           part("PbmPlacementSolver", "placementSolver"),
	}
}

// Service serves the part of the storage policy API that finds policies and their datastores. In vcsim's own service every policy
// is compatible with every datastore, including datastores that are not in the request, and policies are stored in package
// variables.
func (p *Policies) Service() *simulator.Registry {
	r := simulator.NewRegistry()
	r.Namespace, r.Path, r.Cookie = pbm.Namespace, pbm.Path, simulator.SOAPCookie
	content := policyContent()
	r.Put(&policyInstance{ManagedObjectReference: pbm.ServiceInstance})
	r.Put(&policyManager{ManagedObjectReference: content.ProfileManager, policies: p})
	r.Put(&policySolver{ManagedObjectReference: content.PlacementSolver, policies: p})
	return r
}

type policyInstance struct {
	types.ManagedObjectReference
}

// PbmRetrieveServiceContent implements a method of the API.
func (*policyInstance) PbmRetrieveServiceContent(*pbmtypes.PbmRetrieveServiceContent) soap.HasFault {
	return &methods.PbmRetrieveServiceContentBody{Res: &pbmtypes.PbmRetrieveServiceContentResponse{Returnval: policyContent()}}
}

type policyManager struct {
	types.ManagedObjectReference
	policies *Policies
}

// PbmQueryProfile implements a method of the API.
func (m *policyManager) PbmQueryProfile(*pbmtypes.PbmQueryProfile) soap.HasFault {
	if fault := m.policies.refusal(); fault != nil {
		return &methods.PbmQueryProfileBody{Fault_: fault}
	}
	res := &pbmtypes.PbmQueryProfileResponse{}
	for _, p := range m.policies.list() {
		res.Returnval = append(res.Returnval, pbmtypes.PbmProfileId{UniqueId: p.id})
	}
	return &methods.PbmQueryProfileBody{Res: res}
}

// PbmRetrieveContent implements a method of the API, which rejects an empty list and missing policies.
func (m *policyManager) PbmRetrieveContent(req *pbmtypes.PbmRetrieveContent) soap.HasFault {
	if fault := m.policies.refusal(); fault != nil {
		return &methods.PbmRetrieveContentBody{Fault_: fault}
	}
	if len(req.ProfileIds) == 0 {
		return &methods.PbmRetrieveContentBody{Fault_: simulator.Fault("", &types.InvalidRequest{})}
	}
	res := &pbmtypes.PbmRetrieveContentResponse{}
	for _, id := range req.ProfileIds {
		p, ok := m.policies.byID(id.UniqueId)
		if !ok {
			return &methods.PbmRetrieveContentBody{Fault_: noSuchPolicy()}
		}
		res.Returnval = append(res.Returnval, &pbmtypes.PbmCapabilityProfile{
			PbmProfile:      pbmtypes.PbmProfile{ProfileId: id, Name: p.Name},
			ProfileCategory: string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT),
			ResourceType:    pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
			Constraints:     &pbmtypes.PbmCapabilitySubProfileConstraints{},
		})
	}
	return &methods.PbmRetrieveContentBody{Res: res}
}

type policySolver struct {
	types.ManagedObjectReference
	policies *Policies
}

// PbmCheckRequirements implements a method of the API: it returns the compatible ones of the given datastores, or of all.
func (m *policySolver) PbmCheckRequirements(req *pbmtypes.PbmCheckRequirements) soap.HasFault {
	if fault := m.policies.refusal(); fault != nil {
		return &methods.PbmCheckRequirementsBody{Fault_: fault}
	}
	hubs := req.HubsToSearch
	if len(hubs) == 0 {
		for _, e := range m.policies.inventory.Registry.All("Datastore") {
			hubs = append(hubs, pbmtypes.PbmPlacementHub{HubType: "Datastore", HubId: e.Reference().Value})
		}
	}
	res := &pbmtypes.PbmCheckRequirementsResponse{}
	for _, hub := range hubs {
		result := pbmtypes.PbmPlacementCompatibilityResult{Hub: hub}
		for _, requirement := range req.PlacementSubjectRequirement {
			profile, ok := requirement.(*pbmtypes.PbmPlacementCapabilityProfileRequirement)
			if !ok {
				continue
			}
			p, ok := m.policies.byID(profile.ProfileId.UniqueId)
			if !ok {
				return &methods.PbmCheckRequirementsBody{Fault_: noSuchPolicy()}
			}
			if !m.policies.fits(p, types.ManagedObjectReference{Type: hub.HubType, Value: hub.HubId}) {
				result.Error = append(result.Error, types.LocalizedMethodFault{
					Fault:            &pbmtypes.PbmCompatibilityCheckFault{},
					LocalizedMessage: fmt.Sprintf("Datastore does not satisfy the rules of %s.", p.Name),
				})
			}
		}
		res.Returnval = append(res.Returnval, result)
	}
	return &methods.PbmCheckRequirementsBody{Res: res}
}

func noSuchPolicy() *soap.Fault {
	return simulator.Fault("", &types.InvalidArgument{InvalidProperty: "profileId"})
}

// fits reports whether a policy is compatible with a datastore.
func (p *Policies) fits(one storagePolicy, ref types.ManagedObjectReference) bool {
	datastore, ok := Get[*simulator.Datastore](p.inventory, &ref)
	return ok && slices.Contains(one.Datastores, entityName(p.inventory.NewContext(), datastore))
}
