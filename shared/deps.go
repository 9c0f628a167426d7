package shared
import (
 _ "pgregory.net/rapid"
 _ "sigs.k8s.io/controller-runtime"
 _ "k8s.io/apimachinery/pkg/apis/meta/v1"
)
