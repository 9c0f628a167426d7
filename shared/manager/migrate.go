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

// Migrated is a kind with several versions. When its CRD has changed every object is written in the version that is stored today, and
// managed fields of versions that are not served any more are taken off: the API server refuses to apply an object that has some.
type Migrated struct {
	Object client.Object
	// Status has objects written by their status, which no webhook looks at. Kinds without one go through their webhooks.
	Status bool
	// Plural is what the kind's resources are called where that is not the English plural of the kind, by which the migrator finds the CRD.
	Plural string
}

// addMigration adds Cluster API's migrator of CRDs. The cache has no managed fields, so it reads objects from the API server.
func (o *Options) addMigration(ctx context.Context, mgr manager.Manager, kinds []Migrated) error {
	if len(kinds) == 0 {
		return nil
	}
	migrator := &crdmigrator.CRDMigrator{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Config: map[client.Object]crdmigrator.ByObjectConfig{}}
	for _, phase := range o.skipMigrationPhases {
		migrator.SkipCRDMigrationPhases = append(migrator.SkipCRDMigrationPhases, crdmigrator.Phase(phase))
	}
	for _, kind := range kinds {
		if err := kind.tellPlural(mgr.GetScheme()); err != nil {
			return fmt.Errorf("telling the plural of %T: %w", kind.Object, err)
		}
		migrator.Config[kind.Object] = crdmigrator.ByObjectConfig{UseStatusForStorageVersionMigration: kind.Status}
	}
	if err := migrator.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 1}); err != nil {
		return fmt.Errorf("adding the migration of CRDs: %w", err)
	}
	return nil
}

// tellPlural has whoever asks for the plural of the kind in this process get the right one.
func (m Migrated) tellPlural(scheme *runtime.Scheme) error {
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
