// Package helm_test renders the chart with Helm and decodes the result strictly into the
// types of the Kubernetes API.
package helm_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	documents "k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// objects are the documents of one rendering by their kind.
type objects struct {
	config   *core.ConfigMap
	secret   *core.Secret
	service  *core.Service
	stateful *apps.StatefulSet
	daemon   *apps.DaemonSet
	monitor  *monitoring.PodMonitor
	rules    *monitoring.PrometheusRule
	policy   *networking.NetworkPolicy
}

// pod returns the template of the pods.
func (o *objects) pod() core.PodTemplateSpec {
	if o.daemon != nil {
		return o.daemon.Spec.Template
	}
	return o.stateful.Spec.Template
}

// decode refuses keys that the API does not know, keys in another case, duplicate keys,
// and two objects of one kind.
func decode(t *testing.T, text []byte) *objects {
	t.Helper()
	o := &objects{}
	for reader := documents.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return o
		}
		must(t, err)
		var kind meta.TypeMeta
		must(t, yaml.Unmarshal(document, &kind))
		switch kind.APIVersion + " " + kind.Kind {
		case " ": // a comment
		case "v1 ConfigMap":
			o.config = as(t, document, o.config)
		case "v1 Secret":
			o.secret = as(t, document, o.secret)
		case "v1 Service":
			o.service = as(t, document, o.service)
		case "apps/v1 StatefulSet":
			o.stateful = as(t, document, o.stateful)
		case "apps/v1 DaemonSet":
			o.daemon = as(t, document, o.daemon)
		case "monitoring.coreos.com/v1 PodMonitor":
			o.monitor = as(t, document, o.monitor)
		case "monitoring.coreos.com/v1 PrometheusRule":
			o.rules = as(t, document, o.rules)
		case "networking.k8s.io/v1 NetworkPolicy":
			o.policy = as(t, document, o.policy)
		default:
			t.Errorf("unexpected %+v", kind)
		}
	}
}

func as[T any](t *testing.T, document []byte, already *T) *T {
	t.Helper()
	if already != nil {
		t.Errorf("two objects of one kind:\n%s", document)
	}
	text, err := yaml.YAMLToJSONStrict(document)
	must(t, err)
	object := new(T)
	problems, err := strict.UnmarshalStrict(text, object)
	if err := errors.Join(append(problems, err)...); err != nil {
		t.Errorf("%v:\n%s", err, document)
	}
	return object
}

// helm runs the program that `make .tools/helm` builds.
func helm(args ...string) (stdout []byte, _ error) {
	command := exec.Command("../../.tools/helm", args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("run `make .tools/helm` first")
	}
	if err != nil {
		return nil, errors.New(stderr.String() + string(stdout))
	}
	return stdout, nil
}

// render returns the objects of the chart with these values.
func render(t *testing.T, release, values string) (*objects, []byte) {
	t.Helper()
	file := write(t, values)
	text, err := helm("template", release, "syncd", "--values", file)
	must(t, err)
	return decode(t, text), text
}

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// program builds syncd.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "syncd-chart")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "syncd")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/syncd")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// checkConfig lets syncd check the configuration, with the mounts in a folder of the test.
func checkConfig(t *testing.T, o *objects) {
	t.Helper()
	syncd, err := program()
	must(t, err)
	certificate, key := selfSigned(t)
	folder := t.TempDir()
	mounts := strings.NewReplacer("/run/", folder+"/", "/etc/syncd/", folder+"/", "/var/lib/syncd", folder+"/data").Replace
	files := map[string]string{
		"secrets/syncd/customer_id": "CID-chart\n", "secrets/downstream/downstream_ids": "",
		"secrets/tls/tls.crt": certificate, "secrets/tls/tls.key": key, "ca/ca.crt": certificate,
		"secrets/hooks/secret": "whsec_" + strings.Repeat("c2VjcmV0", 4), "secrets/web/web.yml": "basic_auth_users: {operator: $2y$10$Dy5ltRUnM0wpflUWPa4rnO9TBIBtlb.P5vsB7NPjMRMpAY9G1z1Uy}\n",
	}
	for name, text := range o.config.Data {
		files[name] = mounts(text)
	}
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	if out, err := exec.Command(syncd, "--config", filepath.Join(folder, "syncd.yaml"), "config", "check").CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, files["syncd.yaml"])
	}
}

// selfSigned returns a certificate and its key as PEM.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// checkPods requires what all pods have in common, whatever the values.
func checkPods(t *testing.T, o *objects) {
	t.Helper()
	template := o.pod()
	pod := template.Spec
	if s := pod.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || *s.RunAsGroup == 0 || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod: %+v", s)
	}
	if *pod.EnableServiceLinks || *pod.TerminationGracePeriodSeconds < 30 {
		t.Errorf("service links %v, grace period %d s", *pod.EnableServiceLinks, *pod.TerminationGracePeriodSeconds)
	}
	volumes := map[string]core.Volume{}
	for _, v := range pod.Volumes {
		if _, twice := volumes[v.Name]; twice {
			t.Errorf("two volumes %s", v.Name)
		}
		volumes[v.Name] = v
		if v.Secret != nil && *v.Secret.DefaultMode != 0o440 {
			t.Errorf("%s has the mode %o", v.Name, *v.Secret.DefaultMode)
		}
	}
	if o.stateful != nil {
		for _, claim := range o.stateful.Spec.VolumeClaimTemplates {
			volumes[claim.Name] = core.Volume{}
		}
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || *s.AllowPrivilegeEscalation || *s.Privileged || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || s.Capabilities.Add != nil {
			t.Errorf("%s: %+v", c.Name, s)
		}
		for _, m := range c.VolumeMounts {
			if _, known := volumes[m.Name]; !known {
				t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
			}
			// Readers mount the whole volume, so that they follow `current`.
			if m.SubPath != "" || strings.Contains(m.MountPath, "current") || m.ReadOnly == (c.Name == "syncd" && m.Name == "data") {
				t.Errorf("%s: %+v", c.Name, m)
			}
		}
	}
	// One container of a DaemonSet runs as root: it gives the node's folder to syncd.
	for _, c := range pod.InitContainers {
		if s := c.SecurityContext; o.daemon == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Add, []core.Capability{"CHOWN"}) || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
			t.Errorf("%s: %+v", c.Name, s)
		}
	}
	selectors := map[string]map[string]string{}
	if o.service != nil {
		selectors["Service"] = o.service.Spec.Selector
	}
	if o.monitor != nil {
		selectors["PodMonitor"] = o.monitor.Spec.Selector.MatchLabels
	}
	if o.policy != nil {
		selectors["NetworkPolicy"] = o.policy.Spec.PodSelector.MatchLabels
	}
	for kind, selector := range selectors {
		for label, value := range selector {
			if template.Labels[label] != value {
				t.Errorf("the %s selects %s=%s, but pods have %q", kind, label, value, template.Labels[label])
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
