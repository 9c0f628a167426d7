//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net/url"
	"os"
	"strings"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"sigs.k8s.io/yaml"
)

// vcenter looks at the simulated vCenter, and breaks it, as an administrator with a client of his own would.
type vcenter struct {
	*govmomi.Client
	finder *find.Finder
}

func connect(ctx context.Context) vcenter {
	text, err := os.ReadFile(environment.ClusterctlConfig())
	Expect(err).NotTo(HaveOccurred())
	variables := struct {
		Server   string `json:"VSPHERE_SERVER"`
		Username string `json:"VSPHERE_USERNAME"`
		Password string `json:"VSPHERE_PASSWORD"`
	}{}
	Expect(yaml.Unmarshal(text, &variables)).To(Succeed())
	address := &url.URL{Scheme: "https", Host: variables.Server, Path: "/sdk", User: url.UserPassword(variables.Username, variables.Password)}
	client, err := govmomi.NewClient(ctx, address, true)
	Expect(err).NotTo(HaveOccurred())
	return vcenter{Client: client, finder: find.NewFinder(client.Client)}
}

// clusterOf tells in which compute cluster each virtual machine is whose name begins with the prefix.
func (v vcenter) clusterOf(ctx context.Context, prefix string) map[string]string {
	machines, err := v.finder.VirtualMachineList(ctx, "/*/vm/...")
	if _, none := err.(*find.NotFoundError); !none { //nolint:errorlint // the finder returns the bare value
		Expect(err).NotTo(HaveOccurred())
	}
	places := map[string]string{}
	for _, machine := range machines {
		if name := machine.Name(); strings.HasPrefix(name, prefix) {
			places[name] = v.compute(ctx, machine)
		}
	}
	return places
}

func (v vcenter) compute(ctx context.Context, machine *object.VirtualMachine) string {
	host, err := machine.HostSystem(ctx)
	Expect(err).NotTo(HaveOccurred())
	var properties mo.HostSystem
	Expect(host.Properties(ctx, host.Reference(), []string{"parent"}, &properties)).To(Succeed())
	name, err := object.NewCommon(v.Client.Client, *properties.Parent).ObjectName(ctx)
	Expect(err).NotTo(HaveOccurred())
	return name
}

// setMaintenance puts all hosts of a compute cluster into maintenance mode, or takes them out of it. Machines on them stay.
func (v vcenter) setMaintenance(ctx context.Context, cluster string, on bool) {
	hosts, err := v.finder.HostSystemList(ctx, "/*/host/"+cluster+"/*")
	Expect(err).NotTo(HaveOccurred())
	for _, host := range hosts {
		change := host.ExitMaintenanceMode
		if on {
			change = func(ctx context.Context, timeout int32) (*object.Task, error) {
				return host.EnterMaintenanceMode(ctx, timeout, false, nil)
			}
		}
		task, err := change(ctx, 0)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
	}
}
