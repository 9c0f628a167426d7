package e2e
import (
 _ "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/manager"
 _ "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server"
 _ "sigs.k8s.io/cluster-api/util"
 _ "sigs.k8s.io/controller-runtime"
 _ "golang.org/x/term"
 _ "github.com/vmware/govmomi/simulator"
)
