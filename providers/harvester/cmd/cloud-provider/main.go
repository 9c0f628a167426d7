// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cloud-provider runs in a guest cluster on Harvester. It sets the addresses, zone and region of Nodes and the addresses of
// Services.
//
// In the guest cluster it needs the following permissions. The chart also grants it those on its lease, in the namespace of the release
// only.
//
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;update;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=services/status,verbs=patch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
//
// On Harvester its account needs the following permissions in the namespace of the virtual machines. The permission on nodes is optional
// and cluster-wide. They are fewer than those of Harvester's ClusterRole harvesterhci.io:cloudprovider, which also covers storage:
//
// +harvester:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get;list;watch;create;update;delete
// +harvester:rbac:groups=kubevirt.io,resources=virtualmachines;virtualmachineinstances,verbs=get;list;watch
// +harvester:rbac:groups=subresources.kubevirt.io,resources=virtualmachineinstances/guestosinfo,verbs=get
// +harvester:rbac:groups="",resources=nodes,verbs=get;list;watch
package main

// The permissions of the cloud provider in a cluster are defined only in its chart.
//go:generate go run $CONTROLLER_GEN rbac:roleName=cloud-provider-role paths=. output:rbac:dir=../../charts/harvester-cloud-provider/files

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of clients
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/guest"
)

func main() {
	command, err := guest.Command(ctrl.SetupSignalHandler().Done())
	if err != nil {
		fmt.Fprintln(os.Stderr, "cloud-provider:", err)
		os.Exit(1)
	}
	os.Exit(cli.Run(command))
}
