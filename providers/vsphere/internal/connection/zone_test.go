// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// tenants returns clusters that select zones of tenant one, and others that do not.
func tenants() []*infrav1.VSphereCluster {
	return []*infrav1.VSphereCluster{
		newCluster("oldest-of-another-tenant", "two", 4*time.Hour), newCluster("oldest-without-selector", "", 3*time.Hour),
		newCluster("a-young", "one", time.Hour), newCluster("z-old", "one", 2*time.Hour),
	}
}

func withoutFile(g *WithT, d *connection.Dialer) {
	g.Expect(os.Remove(d.Identities.Default.Path)).To(Succeed())
}

func TestZoneWithOwnAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, opened := newDialer(t, tenants()...)
	zone := newZone("one")
	zone.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "zones"}
	_, account, err := d.ForZone(t.Context(), zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(account).To(Equal(infrav1.IdentityAccount))
	opened.refused["zones"] = vcenter.ErrUnauthorized
	_, _, err = d.ForZone(t.Context(), zone)
	g.Expect(err).To(MatchError(vcenter.ErrUnauthorized))
	g.Expect(opened.users()).To(HaveEach("zones"), "no other account is used")

	zone.Spec.IdentityRef.Name = "missing"
	_, _, err = d.ForZone(t.Context(), zone)
	g.Expect(err).To(MatchError(identity.ErrNotUsable))
	g.Expect(err).To(MatchError(ContainSubstring("VSphereClusterIdentity missing does not exist")))
}

func TestZoneWithManagerAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, opened := newDialer(t, tenants()...)
	_, account, err := d.ForZone(t.Context(), newZone("one"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(account).To(Equal(infrav1.ManagerAccount))
	g.Expect(opened.requested).To(Equal([]vcenter.Endpoint{{Server: server, Thumbprint: "of z-old", Username: "manager", Password: "x"}}))
}

func TestZoneWithAccountOfOldestCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, opened := newDialer(t, tenants()...)
	withoutFile(g, d)
	_, account, err := d.ForZone(t.Context(), newZone("one"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(account).To(Equal(infrav1.ClusterAccount))
	g.Expect(opened.requested).To(Equal([]vcenter.Endpoint{{Server: server, Thumbprint: "of z-old", Username: "z-old", Password: "x", Tenant: "default"}}))
}

// A tenant must not take over the checks of others' zones by adding their vCenter to an older cluster.
func TestClusterOnZonesServerPrecedesThoseThatAddIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	adding := newCluster("adding", "one", 9*time.Hour)
	adding.Spec.Server, adding.Spec.AdditionalServers = "other.example.com", []string{server}
	d, opened := newDialer(t, append(tenants(), adding)...)
	withoutFile(g, d)
	_, _, err := d.ForZone(t.Context(), newZone("one"))
	g.Expect(err).NotTo(HaveOccurred())
	alone, asked := newDialer(t, adding)
	withoutFile(g, alone)
	_, _, err = alone.ForZone(t.Context(), newZone("one"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([][]string{opened.users(), asked.users()}).To(Equal([][]string{{"z-old"}, {"adding"}}))
	g.Expect(asked.requested[0].Thumbprint).To(BeEmpty(), "its thumbprint is of its own server")
}

// Another account may see less, and would withdraw a healthy zone from all clusters.
func TestZoneDoesNotFallBackFromUnusableAccount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file      bool
		checkedBy infrav1.ZoneAccount
		user      string
		err       error
	}{
		"the oldest cluster's vCenter session is down": {false, "", "z-old", vcenter.ErrUnreachable},
		"the oldest cluster's password has expired":    {false, infrav1.ClusterAccount, "z-old", vcenter.ErrUnauthorized},
		"the manager is still connecting":              {true, "", "manager", vcenter.ErrConnecting},
		"the manager's session is down":                {true, infrav1.ManagerAccount, "manager", vcenter.ErrUnreachable},
		"the manager's password has expired":           {true, infrav1.ManagerAccount, "manager", vcenter.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, opened := newDialer(t, tenants()...)
			if !tc.file {
				withoutFile(g, d)
			}
			opened.refused[tc.user] = tc.err
			zone := newZone("one")
			zone.Status.CheckedBy = tc.checkedBy
			_, _, err := d.ForZone(t.Context(), zone)
			g.Expect(err).To(MatchError(tc.err))
			g.Expect(opened.users()).To(Equal([]string{tc.user}))
			g.Expect(connection.Waits(err)).To(BeTrue())
		})
	}
}

// The file has one account, and there may be several vCenters.
func TestZoneIgnoresRejectedManagerAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, opened := newDialer(t, tenants()...)
	opened.refused["manager"] = vcenter.ErrUnauthorized
	_, account, err := d.ForZone(t.Context(), newZone("one"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(account).To(Equal(infrav1.ClusterAccount))
	g.Expect(opened.users()).To(Equal([]string{"manager", "z-old"}))
}

// Every user can read zones.
func TestZoneDoesNotRevealTenant(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, opened := newDialer(t, tenants()...)
	withoutFile(g, d)
	opened.refused["z-old"] = vcenter.ErrUnauthorized
	_, _, err := d.ForZone(t.Context(), newZone("one"))
	g.Expect(err).To(MatchError(And(Not(ContainSubstring("z-old")), Not(ContainSubstring("default/")), ContainSubstring("spec.identityRef"))))
	g.Expect(connection.Condition(err).Reason).To(Equal(infrav1.CredentialsInvalidReason))
}

func TestZoneWithoutAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, _ := newDialer(t, newCluster("same-server", "two", time.Hour))
	withoutFile(g, d)
	_, _, err := d.ForZone(t.Context(), newZone("one"))
	g.Expect(err).To(MatchError(identity.ErrNotUsable))
	g.Expect(err).To(MatchError(And(ContainSubstring("no VSphereCluster selects it"), ContainSubstring("spec.identityRef"))))
}

func TestZoneUsesClusterThumbprintOnlyWithClusterAccount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server     string
		ownAccount bool
		want       string
	}{
		"the manager's account on the cluster's server":  {server, false, "of one"},
		"the manager's account on another":               {"other.example.com", false, ""},
		"the zone's own account on the cluster's server": {server, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, opened := newDialer(t, newCluster("one", "one", time.Hour))
			zone := newZone("one")
			zone.Spec.Server = tc.server
			if tc.ownAccount {
				zone.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "zones"}
			}
			_, _, err := d.ForZone(t.Context(), zone)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(opened.requested[0].Thumbprint).To(Equal(tc.want))
		})
	}
}

func TestZoneThumbprintTakesPrecedence(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d, opened := newDialer(t, newCluster("one", "one", time.Hour))
	zone := newZone("one")
	zone.Spec.Thumbprint = "of the zone"
	_, _, err := d.ForZone(t.Context(), zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.requested[0].Thumbprint).To(Equal("of the zone"))
}
