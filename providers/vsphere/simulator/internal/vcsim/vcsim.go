// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcsim is govmomi's vcsim for one server alone, and what vCenter has and does beyond it: the inventory by reference, name and path,
// sessions, tasks with their turns, faults and history, changes as clients are told of them, how virtual machines are made, what they run
// on and what befalls that, groups and rules, guests, storage policies and key providers. Each file is one of these.
package vcsim

import (
	"fmt"
	"math"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/simulator"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// VCSim is a vCenter without anything in it.
type VCSim struct {
	Model *simulator.Model
	// REST is what it has beside SOAP.
	REST http.Handler
}

// New makes one that clients find at host:port. A version of "" is vcsim's own; valid says who may log in. simulator.Service
// would do most of it, but takes its REST and PBM parts from package variables and serves them on a listener that cannot be
// cut.
func New(host, version string, valid func(*types.Login) bool) (*VCSim, error) {
	v := &VCSim{Model: simulator.VPX()}
	v.Model.Datacenter = 0
	if version != "" {
		v.Model.ServiceContent.About.Version = version
	}
	if err := v.Model.Create(); err != nil {
		v.Remove()
		return nil, fmt.Errorf("creating empty inventory: %w", err)
	}
	service, registry := v.Model.Service, v.Model.Map()
	service.Listen = &url.URL{
		Scheme: "https", Host: host, Path: vim25.Path,
		// Any account set here makes vcsim ask ValidLogin; it is never valid itself.
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

	registry.EventManager().MaxCollector = math.MaxInt32 // vcsim counts those of sessions that are over
	return v, nil
}

// Remove removes its files.
func (v *VCSim) Remove() {
	if v.Model.Service != nil {
		v.Model.Remove()
	}
}
