// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Migrated is a kind with several versions. When its CRD has changed, every object is written in the current storage version, and
// managed fields of versions that are no longer served are removed, because the API server rejects an apply to an object that has
// some.
type Migrated struct {
	Object client.Object
	// Status makes the migrator write the status, which is not sent to webhooks. Kinds without a status subresource pass their
	// webhooks.
	Status bool
	// Plural is the plural of the kind if it is not the regular English one. The migrator derives the name of the CRD from it.
	Plural string
}

// addMigration adds Cluster API's CRD migrator. It reads objects from the API server, because the cache has no managed fields.
func (o *Options) addMigration(ctx context.Context, mgr manager.Manager, kinds []Migrated) error {
	if len(kinds) == 0 {
		return nil
	}
	migrator := &crdmigrator.CRDMigrator{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Config: map[client.Object]crdmigrator.ByObjectConfig{}}
	for _, phase := range o.skipMigrationPhases {
		migrator.SkipCRDMigrationPhases = append(migrator.SkipCRDMigrationPhases, crdmigrator.Phase(phase))
	}
	for _, kind := range kinds {
		if err := kind.findPlural(mgr.GetScheme()); err != nil {
			return fmt.Errorf("finding the plural of %T: %w", kind.Object, err)
		}
		migrator.Config[kind.Object] = crdmigrator.ByObjectConfig{UseStatusForStorageVersionMigration: kind.Status}
	}
	if err := migrator.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 1}); err != nil {
		return fmt.Errorf("adding the CRD migrator: %w", err)
	}
	return nil
}

// findPlural registers the plural of the kind for this process.
func (m Migrated) findPlural(scheme *runtime.Scheme) error {
	if m.Plural == "" {
		return nil
	}
	kind, err := apiutil.GVKForObject(m.Object, scheme)
	if err != nil {
		return err
	}
	plurals, err := json.Marshal(map[string]string{strings.ToLower(kind.Kind): m.Plural})
	if err != nil {
		return err
	}
	return flect.LoadInflections(bytes.NewReader(plurals))
}
