// Package kubernetes_test checks the Kubernetes example.
package kubernetes_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"syncd/internal/config"
)

// The parts of the Kubernetes API that the example uses. Strict decoding finds keys
// that are misspelled or in the wrong place.
type (
	object struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   metadata          `yaml:"metadata"`
		Data       map[string]string `yaml:"data"`
		StringData map[string]string `yaml:"stringData"`
		Type       string            `yaml:"type"`
		Spec       spec              `yaml:"spec"`
	}
	metadata struct {
		Name        string            `yaml:"name"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	}
	spec struct { // of a Service, a StatefulSet or a DaemonSet
		ClusterIP            string            `yaml:"clusterIP"`
		Selector             any               `yaml:"selector"`
		Ports                []port            `yaml:"ports"`
		ServiceName          string            `yaml:"serviceName"`
		Replicas             int               `yaml:"replicas"`
		UpdateStrategy       map[string]string `yaml:"updateStrategy"`
		Template             pod               `yaml:"template"`
		VolumeClaimTemplates []claim           `yaml:"volumeClaimTemplates"`
	}
	port struct {
		Name          string `yaml:"name"`
		Port          int    `yaml:"port"`
		TargetPort    string `yaml:"targetPort"`
		ContainerPort int    `yaml:"containerPort"`
	}
	claim struct {
		Metadata metadata `yaml:"metadata"`
		Spec     struct {
			AccessModes []string  `yaml:"accessModes"`
			Resources   resources `yaml:"resources"`
		} `yaml:"spec"`
	}
	resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	}
	pod struct {
		Metadata metadata `yaml:"metadata"`
		Spec     struct {
			AutomountServiceAccountToken  *bool       `yaml:"automountServiceAccountToken"`
			EnableServiceLinks            *bool       `yaml:"enableServiceLinks"`
			TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
			SecurityContext               podSecurity `yaml:"securityContext"`
			InitContainers                []container `yaml:"initContainers"`
			Containers                    []container `yaml:"containers"`
			Volumes                       []volume    `yaml:"volumes"`
		} `yaml:"spec"`
	}
	podSecurity struct {
		RunAsNonRoot        bool              `yaml:"runAsNonRoot"`
		RunAsUser           int               `yaml:"runAsUser"`
		RunAsGroup          int               `yaml:"runAsGroup"`
		FSGroup             int               `yaml:"fsGroup"`
		FSGroupChangePolicy string            `yaml:"fsGroupChangePolicy"`
		SeccompProfile      map[string]string `yaml:"seccompProfile"`
	}
	container struct {
		Name            string    `yaml:"name"`
		Image           string    `yaml:"image"`
		Command         []string  `yaml:"command"`
		Ports           []port    `yaml:"ports"`
		StartupProbe    *probe    `yaml:"startupProbe"`
		LivenessProbe   *probe    `yaml:"livenessProbe"`
		ReadinessProbe  *probe    `yaml:"readinessProbe"`
		SecurityContext security  `yaml:"securityContext"`
		Resources       resources `yaml:"resources"`
		VolumeMounts    []mount   `yaml:"volumeMounts"`
	}
	probe struct {
		Exec struct {
			Command []string `yaml:"command"`
		} `yaml:"exec"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		TimeoutSeconds   int `yaml:"timeoutSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	}
	security struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		RunAsNonRoot             *bool `yaml:"runAsNonRoot"`
		RunAsUser                *int  `yaml:"runAsUser"`
		Privileged               bool  `yaml:"privileged"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct {
			Drop []string `yaml:"drop"`
			Add  []string `yaml:"add"`
		} `yaml:"capabilities"`
	}
	mount struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	}
	volume struct {
		Name      string `yaml:"name"`
		ConfigMap *struct {
			Name string `yaml:"name"`
		} `yaml:"configMap"`
		Secret *struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		} `yaml:"secret"`
		HostPath *struct {
			Path string `yaml:"path"`
			Type string `yaml:"type"`
		} `yaml:"hostPath"`
	}
)

// objects returns the documents of a mirror for one reader by kind.
func objects(t *testing.T) map[string]object {
	t.Helper()
	all := map[string]object{}
	for name, o := range decode(t, "syncd.yaml", "secret.yaml") {
		kind, name, _ := strings.Cut(name, " ")
		if name != "syncd" {
			t.Errorf("%s %q", kind, name)
		}
		all[kind] = o
	}
	return all
}

// decode returns the documents of files by kind and name.
func decode(t *testing.T, paths ...string) map[string]object {
	t.Helper()
	all := map[string]object{}
	for _, path := range paths {
		file, err := os.Open(path)
		must(t, err)
		defer file.Close()
		for decoder := yaml.NewDecoder(file, yaml.Strict()); ; {
			var o object
			if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if o.APIVersion == "" {
				t.Errorf("%s: %s %q has no apiVersion", path, o.Kind, o.Metadata.Name)
			}
			all[o.Kind+" "+o.Metadata.Name] = o
		}
	}
	return all
}

func TestExampleIsComplete(t *testing.T) {
	all := objects(t)
	for _, kind := range []string{"ConfigMap", "Service", "StatefulSet", "Secret"} {
		if all[kind].Kind == "" {
			t.Errorf("missing %s", kind)
		}
	}
	path := filepath.Join(t.TempDir(), "syncd.yaml")
	must(t, os.WriteFile(path, []byte(all["ConfigMap"].Data["syncd.yaml"]), 0o600))
	if _, err := config.Load(path, config.Environment{}); err != nil {
		t.Error(err)
	}
	if all["Secret"].StringData["customer_id"] == "" {
		t.Error("the Secret has no customer_id")
	}
	annotations := all["StatefulSet"].Spec.Template.Metadata.Annotations
	if annotations["prometheus.io/scrape"] != "true" || annotations["prometheus.io/port"] != "9797" {
		t.Errorf("annotations %v", annotations)
	}
}

func TestContainersAreRestricted(t *testing.T) {
	for name, o := range decode(t, "syncd.yaml", "fleet.yaml") {
		if o.Kind == "StatefulSet" || o.Kind == "DaemonSet" {
			t.Run(name, func(t *testing.T) { checkRestricted(t, o.Spec.Template) })
		}
	}
}

func checkRestricted(t *testing.T, p pod) {
	pod := p.Spec
	if s := pod.SecurityContext; !s.RunAsNonRoot || s.RunAsUser == 0 || s.RunAsGroup == 0 || s.SeccompProfile["type"] != "RuntimeDefault" {
		t.Errorf("the pod: %+v", s)
	}
	if token := pod.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the pod mounts an API token")
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Privileged || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s: %+v", c.Name, s)
		}
	}
}

// The publisher's and the followers' configurations are valid, and fit together: the
// followers ask the address that the publisher's links begin with.
func TestFleetIsComplete(t *testing.T) {
	all := decode(t, "fleet.yaml")
	loaded := map[string]*config.Config{}
	for _, role := range []string{"publisher", "follower"} {
		path := filepath.Join(t.TempDir(), "syncd.yaml")
		must(t, os.WriteFile(path, []byte(all["ConfigMap syncd-"+role].Data["syncd.yaml"]), 0o600))
		c, err := config.Load(path, config.Environment{})
		must(t, err)
		loaded[role] = c
	}
	service := all["Service syncd-publisher"]
	serve, source := loaded["publisher"].Serve, loaded["follower"].Source
	if source.URL.String() != serve.PublicURL.String() || source.URL.Hostname() != service.Metadata.Name {
		t.Errorf("followers ask %s, links begin with %s, and the Service is %q", source.URL, serve.PublicURL, service.Metadata.Name)
	}
	if _, port, _ := strings.Cut(serve.Listen, ":"); port != source.URL.Port() || serve.IDsFile == "" || serve.WebConfig == "" {
		t.Errorf("the publisher serves at %q with ids of %q and TLS of %q", serve.Listen, serve.IDsFile, serve.WebConfig)
	}
	// Of a follower's containers, only the one that gives the folder to syncd runs as root.
	owner := all["DaemonSet syncd-follower"].Spec.Template.Spec.InitContainers
	if len(owner) != 1 || !slices.Equal(owner[0].SecurityContext.Capabilities.Add, []string{"CHOWN"}) {
		t.Errorf("%+v", owner)
	}
}

func TestReadersMountTheWholeDataDirReadOnly(t *testing.T) {
	set := objects(t)["StatefulSet"].Spec
	data := set.VolumeClaimTemplates[0].Metadata.Name
	for _, c := range set.Template.Spec.Containers {
		found := slices.IndexFunc(c.VolumeMounts, func(m mount) bool { return m.Name == data })
		if found < 0 {
			t.Fatalf("%s does not mount %s", c.Name, data)
		}
		m := c.VolumeMounts[found]
		if m.SubPath != "" || strings.Contains(m.MountPath, "current") || m.ReadOnly != (c.Name != "syncd") {
			t.Errorf("%s: %+v", c.Name, m)
		}
	}
}

// The sidecar's script runs its command for each swap, and again after a failure.
func TestTheSidecarRunsItsCommandForEachSwap(t *testing.T) {
	all, dir := objects(t), t.TempDir()
	containers := all["StatefulSet"].Spec.Template.Spec.Containers
	command := containers[len(containers)-1].Command
	script := all["ConfigMap"].Data["watch-current"]
	if len(command) < 4 || command[1] != "/etc/syncd/watch-current" || script == "" {
		t.Fatalf("command %q, script %q", command, script)
	}
	swap := func(to string) {
		t.Helper()
		must(t, errors.Join(os.Symlink(to, filepath.Join(dir, "new")), os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "current"))))
	}
	must(t, os.WriteFile(filepath.Join(dir, "watch"), []byte(script), 0o644))
	// The command fails at its first call of each swap.
	reload := `readlink "$0/current" >>"$0/called"; [ $(($(wc -l <"$0/called") % 2)) = 0 ]`
	sidecar := exec.Command("/bin/sh", filepath.Join(dir, "watch"), dir, "/bin/sh", "-c", reload, dir)
	must(t, sidecar.Start())
	defer func() { sidecar.Process.Kill(); sidecar.Wait() }()
	want := ""
	for _, generation := range []string{"generations/000001", "generations/000002", "generations/000003"} {
		swap(generation)
		want += generation + "\n" + generation + "\n"
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			called, _ := os.ReadFile(filepath.Join(dir, "called"))
			if string(called) == want {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("called for %q, want %q", called, want)
			}
		}
	}
}

func TestProbesRunHealthcheck(t *testing.T) {
	c := objects(t)["StatefulSet"].Spec.Template.Spec.Containers[0]
	alive := []string{"/usr/bin/syncd", "healthcheck"}
	tests := []struct {
		name  string
		probe *probe
		want  []string
	}{
		{"startup", c.StartupProbe, alive},
		{"liveness", c.LivenessProbe, alive},
		{"readiness", c.ReadinessProbe, append(alive, "--ready")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.probe == nil || !slices.Equal(tt.probe.Exec.Command, tt.want) || tt.probe.TimeoutSeconds <= 5 {
				t.Errorf("probe %+v: want command %q and a timeout above the 5 s of healthcheck", tt.probe, tt.want)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
