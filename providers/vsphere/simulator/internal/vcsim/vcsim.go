// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcsim runs govmomi's vcsim in isolation for one server, and adds what vCenter has and does beyond it: the inventory by
// reference, name and path; sessions; tasks with their serialization, faults and history; change notification; creation of
// virtual machines, the resources that they run on and changes by other actors; DRS groups and rules; guests; storage policies;
// and key providers. Each has its own files.
package vcsim

import (
	"fmt"
	"math"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// VCSim is an empty vCenter.
type VCSim struct {
	Model *simulator.Model
	// REST handles the REST API.
	REST http.Handler
}

// New returns a vCenter that clients reach at host:port. A version of "" is vcsim's own; valid checks logins. simulator.Service
// would do most of it, but takes its REST and PBM services from package variables and serves them on a listener that cannot be
// interrupted.
func New(host, version string, valid func(*types.Login) bool) (*VCSim, error) {
	v := &VCSim{Model: simulator.VPX()}
	v.Model.Datacenter = 0
	if version != "" {
		v.Model.ServiceContent.About.Version = version
	}
	v.Model.ServiceContent.About.InstanceUuid = uuid.NewSHA1(uuid.NameSpaceURL, []byte(host)).String() // the same after a restart
	if err := v.Model.Create(); err != nil {
		v.Remove()
		return nil, fmt.Errorf("creating empty inventory: %w", err)
	}
	service, registry := v.Model.Service, v.Model.Map()
	service.Listen = &url.URL{
		Scheme: "https", Host: host, Path: vim25.Path,
		// Any account set here makes vcsim call ValidLogin; it is never valid itself.
		User: url.UserPassword("", ""),
	}
	registry.SessionManager().ValidLogin = valid
	registry.SessionManager().ServiceHostName = host

	service.RegisterSDK(registry, vim25.Path+"/vimService")
	service.ServeMux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", service.ServiceVersions)
	patterns, rest := vapi.New(service.Listen, registry)
	for _, pattern := range patterns {
		service.Handle(pattern, rest)
	}
	v.REST = rest

	registry.EventManager().MaxCollector = math.MaxInt32 // vcsim also counts those of ended sessions
	return v, nil
}

// Remove deletes its files.
func (v *VCSim) Remove() {
	if v.Model.Service != nil {
		v.Model.Remove()
	}
}
