// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/simulation"
)

const (
	// late is the delay of a lagging manager's watches: long enough for a pause of the length calm.
	late = 5 * time.Second
	// often is the interval at which another client writes meanwhile.
	often = 50 * time.Millisecond
)

// Marked is an object with an annotation, label or finalizer that a manager keeps on it, or an owner reference in the form "kind
// name".
type Marked struct {
	client.Object
	Mark string
}

// Contention tests a conflict between a manager and other clients about marks of objects.
type Contention struct {
	User
	*Writes

	// Events reads the events of the manager.
	Events client.Reader

	admin   *rest.Config
	front   *simulation.Proxy
	objects []Marked
}

// Contention returns a Contention, and the configuration with which to start the manager. admin has administrator credentials. The
// manager has the permissions of the account, or all if it is "".
func (u User) Contention(admin *rest.Config, account string) (*Contention, *rest.Config) {
	u.T.Helper()
	as := simulation.User{Name: account, Groups: []string{"system:authenticated"}}
	if account == "" {
		as = simulation.User{Name: "manager", Groups: append(as.Groups, "system:masters")}
	}
	writes, counted := u.Writes(admin)
	proxy, err := simulation.NewProxy(counted, simulation.Address{})
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	const token = "manager"
	proxy.Admit(token, as)
	proxy.CountOnly()
	u.G.Expect(proxy.Up(u.T.Context())).To(gomega.Succeed())
	u.T.Cleanup(func() { _ = proxy.Close() }) // The manager has stopped.
	return &Contention{User: u, Writes: writes, Events: u.Client, admin: admin, front: proxy}, &rest.Config{
		Host: proxy.URL(), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: proxy.Authority()}, QPS: -1,
	}
}

// Kubeconfig returns a configuration of Contention as a kubeconfig, for a manager in its own process or one that reads it from a
// Secret.
func Kubeconfig(u User, config *rest.Config, namespace string) []byte {
	u.T.Helper()
	const only = "only"
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{only: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{only: {Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{only: {Cluster: only, AuthInfo: only, Namespace: namespace}},
		CurrentContext: only,
	})
	u.G.Expect(err).NotTo(gomega.HaveOccurred())
	return data
}

// About runs all scenarios for objects that have their marks and are not changed otherwise: writes conflict, another client
// removes the marks whenever they are written, the API server does not keep them, and watches lag while another client writes. In
// each scenario the pauses between writes of each object must grow, and all marks must exist afterwards.
func (q *Contention) About(objects ...Marked) {
	q.T.Helper()
	q.objects = objects
	q.waitForMarks()
	q.lose()
	q.undo()
	q.strip()
	q.lag()
}

func (q *Contention) each(do func(Marked)) {
	q.T.Helper()
	for _, o := range q.objects {
		do(o)
	}
}

// lose removes the marks while all writes that restore them conflict.
func (q *Contention) lose() {
	q.T.Helper()
	q.T.Log("writes lose")
	var all []client.Object
	q.each(func(o Marked) { all = append(all, o.Object) })
	q.Forget()
	q.Conflict(all...)
	q.each(q.removeMarks)
	q.each(func(o Marked) { q.WaitForBackoff(o.Object) })
	q.Conflict()
	q.waitForMarks()
}

// undo removes the marks whenever they exist.
func (q *Contention) undo() {
	q.T.Helper()
	q.T.Log("another client reverts the writes")
	q.Forget()
	var stops []func()
	q.each(func(o Marked) { stops = append(stops, q.Revert(o)) })
	q.each(func(o Marked) { q.WaitForBackoff(o.Object) })
	q.each(func(o Marked) { q.waitForEvent(o, "another client removes or changes the") })
	for _, stop := range stops {
		stop()
	}
	q.waitForMarks()
}

// Revert is another client that removes the mark of an object whenever it exists, until stop is called or the test ends.
func (q *Contention) Revert(o Marked) (stop func()) {
	q.T.Helper()
	ctx, cancel := context.WithCancel(q.T.Context())
	watching, err := client.NewWithWatch(q.admin, client.Options{Scheme: q.Client.Scheme(), Mapper: q.Client.RESTMapper()})
	q.G.Expect(err).NotTo(gomega.HaveOccurred())
	kind := q.mapping(o.Object).GroupVersionKind
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	list.Kind += "List"
	events, err := watching.Watch(ctx, list, client.InNamespace(o.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, o.GetName())})
	q.G.Expect(err).NotTo(gomega.HaveOccurred())
	reverting := sync.WaitGroup{}
	reverting.Go(func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			if is, ok := event.Object.(*metav1.PartialObjectMetadata); ok && marked(is, o.Mark) {
				is.SetGroupVersionKind(kind)          // An event has the kind of the metadata.
				_ = unmark(ctx, watching, is, o.Mark) // An object that has changed since is delivered again.
			}
		}
	})
	stop = func() {
		cancel()
		reverting.Wait()
	}
	q.T.Cleanup(stop)
	return stop
}

// strip makes the API server drop the marks.
func (q *Contention) strip() {
	q.T.Helper()
	q.T.Log("a policy strips what is written")
	var keep []func()
	q.each(func(o Marked) { keep = append(keep, q.Strip(o.Object, o.Mark)) })
	q.Forget()
	q.each(q.removeMarks)
	q.each(func(o Marked) { q.waitForEvent(o, "the API server does not store the") })
	q.each(func(o Marked) { q.waitForLongPause(o.Object, 0) }) // The pauses of the previous scenario continue.
	for _, each := range keep {
		each()
	}
	q.waitForMarks()
	q.each(q.waitForRecovery)
}

// lag makes the watches of the manager lag while another client writes the objects.
func (q *Contention) lag() {
	q.T.Helper()
	q.T.Log("watches lag")
	q.Forget()
	q.front.Lag(late)
	q.each(q.removeMarks)
	ctx, stop := context.WithCancel(q.T.Context())
	defer stop()
	writing := sync.WaitGroup{}
	q.each(func(o Marked) {
		writing.Go(func() {
			tick := time.NewTicker(often)
			defer tick.Stop()
			for {
				select {
				case now := <-tick.C:
					_ = q.Client.Patch(ctx, q.metadata(o), touching(now)) // It ends with the context.
				case <-ctx.Done():
					return
				}
			}
		})
	})
	q.each(func(o Marked) { q.WaitForBackoff(o.Object) })
	stop()
	writing.Wait()
	q.front.Lag(0)
	q.waitForMarks()
}

// waitForMarks waits until the objects have their marks.
func (q *Contention) waitForMarks() {
	q.T.Helper()
	q.each(func(o Marked) {
		q.T.Helper()
		q.G.Eventually(func(g gomega.Gomega) {
			is := q.metadata(o)
			g.Expect(q.Client.Get(q.T.Context(), client.ObjectKeyFromObject(is), is)).To(gomega.Succeed())
			g.Expect(marked(is, o.Mark)).To(gomega.BeTrue(), "%s %s has %s", is.Kind, is.Name, o.Mark)
		}).Should(gomega.Succeed())
	})
}

func (q *Contention) removeMarks(o Marked) {
	q.T.Helper()
	q.G.Eventually(func() error {
		is := q.metadata(o)
		if err := q.Client.Get(q.T.Context(), client.ObjectKeyFromObject(is), is); err != nil {
			return err
		}
		return unmark(q.T.Context(), q.Client, is, o.Mark)
	}).Should(gomega.Succeed())
}

// waitForEvent waits for an event that names what is removed from an object.
func (q *Contention) waitForEvent(o Marked, how string) {
	q.T.Helper()
	gvk, err := apiutil.GVKForObject(o.Object, q.Client.Scheme())
	q.G.Expect(err).NotTo(gomega.HaveOccurred())
	q.G.Eventually(func(g gomega.Gomega) {
		all := &eventsv1.EventList{}
		g.Expect(q.Events.List(q.T.Context(), all)).To(gomega.Succeed())
		g.Expect(slices.ContainsFunc(all.Items, func(e eventsv1.Event) bool {
			return e.Reason == faultlinev1.ReasonAnnotationsRemoved && strings.Contains(e.Note, how) && strings.Contains(e.Note, o.Mark) &&
				strings.Contains(e.Note, gvk.Kind+" "+o.GetName())
		})).To(gomega.BeTrue(), func() string { return q.missingEvent(o, gvk.Kind, all.Items) })
	}).Should(gomega.Succeed())
}

// missingEvent returns diagnostics for a missing event.
func (q *Contention) missingEvent(o Marked, kind string, all []eventsv1.Event) string {
	found := fmt.Sprintf("an event reports that %s %s loses %s. Pauses between its writes: %v", kind, o.GetName(), o.Mark, pauses(q.of(q.path(o.Object))))
	if is, ok := o.DeepCopyObject().(Conditioned); ok && q.Client.Get(q.T.Context(), client.ObjectKeyFromObject(is), is) == nil {
		found += "\n" + Describe(is)
	}
	for _, e := range all {
		if e.Reason == faultlinev1.ReasonAnnotationsRemoved && e.Regarding.Name == o.GetName() {
			found += "\n" + e.Note
		}
	}
	return found
}

// waitForRecovery waits until the conditions of an object no longer report the removal.
func (q *Contention) waitForRecovery(o Marked) {
	q.T.Helper()
	is, ok := o.DeepCopyObject().(Conditioned)
	if !ok {
		return
	}
	q.G.Eventually(func(g gomega.Gomega) {
		g.Expect(q.Client.Get(q.T.Context(), client.ObjectKeyFromObject(is), is)).To(gomega.Succeed())
		g.Expect(conditions.Has(is, faultlinev1.MetadataKeptCondition)).To(gomega.BeFalse(), "%s", Describe(is))
	}).Should(gomega.Succeed())
}

// metadata returns an empty object for the metadata of another.
func (q *Contention) metadata(o Marked) *metav1.PartialObjectMetadata {
	q.T.Helper()
	is := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
	is.SetGroupVersionKind(q.mapping(o.Object).GroupVersionKind)
	return is
}

func marked(o client.Object, mark string) bool {
	_, annotated := o.GetAnnotations()[mark]
	_, labelled := o.GetLabels()[mark]
	return annotated || labelled || slices.Contains(o.GetFinalizers(), mark) ||
		slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return ownerMark(owner) == mark })
}

func ownerMark(owner metav1.OwnerReference) string { return owner.Kind + " " + owner.Name }

// touching returns a patch that changes an annotation.
func touching(at time.Time) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+probe+`":"`+at.Format(time.RFC3339Nano)+`"}}}`))
}

// unmark removes a mark from an object as it was read, and writes an annotation: the removal of a finalizer alone does not
// trigger a controller that ignores status updates.
func unmark(ctx context.Context, c client.Client, o *metav1.PartialObjectMetadata, mark string) error {
	before := o.DeepCopy()
	delete(o.Annotations, mark)
	metav1.SetMetaDataAnnotation(&o.ObjectMeta, probe, time.Now().Format(time.RFC3339Nano))
	delete(o.Labels, mark)
	o.Finalizers = slices.DeleteFunc(o.Finalizers, func(finalizer string) bool { return finalizer == mark })
	o.OwnerReferences = slices.DeleteFunc(o.OwnerReferences, func(owner metav1.OwnerReference) bool { return ownerMark(owner) == mark })
	return c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
