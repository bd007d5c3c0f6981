package ccm

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/component-base/metrics"

	"gatehouse.dev/internal/controller"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/probe"
	"gatehouse.dev/providers"
)

// measures are the controllers' metrics. They are on the manager's own /metrics.
type measures struct {
	requests     *metrics.CounterVec
	requestTime  *metrics.HistogramVec
	retries      *metrics.CounterVec
	reconcile    *metrics.HistogramVec
	changes      *metrics.CounterVec
	passes       *metrics.CounterVec
	statusWrites *metrics.CounterVec
	issuances    *metrics.CounterVec
	probes       *metrics.CounterVec
	rotations    *metrics.CounterVec
	meshes       *meshCollector
	build        *metrics.GaugeVec
}

// registrar is where metrics are registered: a metrics.KubeRegistry, or the
// manager's own in package legacyregistry.
type registrar struct {
	register func(metrics.Registerable) error
	custom   func(metrics.StableCollector) error
}

// newMeasures makes the metrics and registers them. paused is asked whenever they
// are read.
func newMeasures(r registrar, paused func() int) (*measures, error) {
	m := &measures{
		requests:     metrics.NewCounterVec(counter("cloud_requests_total", "Calls to a provider that ended, failed ones too. code is OK or lbmodel's code of the error."), []string{"provider", "operation", "code"}),
		requestTime:  metrics.NewHistogramVec(histogram("cloud_request_duration_seconds", "How long calls to a provider took."), []string{"provider", "operation"}),
		retries:      metrics.NewCounterVec(counter("cloud_retries_total", "Calls to a provider that failed and were planned again."), []string{"operation", "code"}),
		reconcile:    metrics.NewHistogramVec(histogram("reconcile_duration_seconds", "How long work took: a pass over a Gateway or a Service, and Endpoints from the observation of a change until the cloud had it."), []string{"controller", "stage"}),
		passes:       metrics.NewCounterVec(counter("reconciles_total", "Passes over a Gateway or a Service, by the code of their first error."), []string{"kind", "code"}),
		changes:      metrics.NewCounterVec(counter("plan_changes", "Steps of plans that were carried out, by what they do."), []string{"action"}),
		statusWrites: metrics.NewCounterVec(counter("status_writes_total", "Writes of statuses to the API server, by the kind of object."), []string{"kind"}),
		probes:       metrics.NewCounterVec(counter("mesh_probes_total", "Pods that were dialled as a gateway would dial them (MeshBinding.spec.probe). outcome is OK, Unreachable, Chain (wrong CA), Name (wrong SAN), Expired, ClientCertificate (it was refused), ClearText, Reset or Silent (no TLS), or another failure of the handshake."), []string{"binding", "outcome"}),
		issuances:    metrics.NewCounterVec(counter("mesh_issuances_total", "Answers of a mesh's CA to requests for a gateway's certificate. code is OK or lbmodel's code of the error."), []string{"binding", "code"}),
		rotations:    metrics.NewCounterVec(counter("mesh_rotations_total", "Roots that a mesh does not publish any more and that have left its gateways."), []string{"binding"}),
		meshes:       newMeshCollector(),
		build:        metrics.NewGaugeVec(gauge("build_info", "1, with what was built as labels."), []string{"version", "commit", "go_version"}),
	}
	for _, each := range []metrics.Registerable{m.requests, m.requestTime, m.retries, m.reconcile, m.passes, m.changes, m.statusWrites, m.issuances, m.probes, m.rotations, m.build} {
		if err := r.register(each); err != nil {
			return nil, err
		}
	}
	if err := r.custom(&pausedCollector{count: paused, desc: pausedDesc()}); err != nil {
		return nil, err
	}
	if err := r.custom(m.meshes); err != nil {
		return nil, err
	}
	v := built()
	m.build.WithLabelValues(v.version, v.commit, v.golang).Set(1)
	return m, nil
}

const namespace = "gatehouse"

func counter(name, help string) *metrics.CounterOpts {
	return &metrics.CounterOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA}
}

func gauge(name, help string) *metrics.GaugeOpts {
	return &metrics.GaugeOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA}
}

// histogram has room for a cloud that takes minutes.
func histogram(name, help string) *metrics.HistogramOpts {
	return &metrics.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA,
		Buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}
}

// pausedCollector tells how many are paused when it is asked.
type pausedCollector struct {
	metrics.BaseStableCollector
	desc  *metrics.Desc
	count func() int
}

func pausedDesc() *metrics.Desc {
	return metrics.NewDesc("gatehouse_paused", "Gateways and Services that are paused by annotation.", nil, nil, metrics.ALPHA, "")
}

// DescribeWithStability implements metrics.StableCollector.
func (p *pausedCollector) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- p.desc }

// CollectWithStability implements metrics.StableCollector.
func (p *pausedCollector) CollectWithStability(ch chan<- metrics.Metric) {
	ch <- metrics.NewLazyConstMetric(p.desc, metrics.GaugeValue, float64(p.count()))
}

// call counts a call that ended.
func (m *measures) call(provider string, c providers.Call) {
	m.requests.WithLabelValues(provider, c.Op, c.Code.String()).Inc()
	m.requestTime.WithLabelValues(provider, c.Op).Observe(c.Took.Seconds())
}

// event counts what happens while steps are carried out.
func (m *measures) event(e providers.Event) {
	switch e.What {
	case providers.Retrying:
		m.retries.WithLabelValues(string(e.Step.Verb)+e.Step.ID.Kind, lbmodel.CodeOf(e.Err).String()).Inc()
	case providers.Done:
		m.changes.WithLabelValues(string(e.Step.Verb)).Inc()
	}
}

// hooks are what the controller tells.
func (m *measures) hooks() controller.Metrics {
	return controller.Metrics{
		Pass: func(kind string, took time.Duration, code lbmodel.Code) {
			m.stage(kind, took)
			m.passes.WithLabelValues(kind, code.String()).Inc()
		},
		Endpoints:    func(took time.Duration) { m.stage("Endpoints", took) },
		StatusWrites: func(kind string) { m.statusWrites.WithLabelValues(kind).Inc() },
		Meshes:       m.meshes.learn,
		Rotated:      func(binding string) { m.rotations.WithLabelValues(binding).Inc() },
	}
}

// probed counts a pod that was dialled.
func (m *measures) probed(binding string, outcome probe.Outcome) {
	m.probes.WithLabelValues(binding, string(outcome)).Inc()
}

// issued counts an answer of a mesh's CA.
func (m *measures) issued(binding string, code lbmodel.Code) {
	m.issuances.WithLabelValues(binding, code.String()).Inc()
}

func (m *measures) stage(stage string, took time.Duration) {
	m.reconcile.WithLabelValues(ControllerName, stage).Observe(took.Seconds())
}

// build is what this program was made of.
type build struct{ version, commit, golang string }

func built() build {
	b := build{version: "(unknown)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.version, b.golang = info.Main.Version, info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.commit = s.Value
		}
	}
	return b
}

// String is the build for people.
func (b build) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", ManagerName, b.version, b.golang, b.commit))
}
