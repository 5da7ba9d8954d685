package helm_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// rendered are the manifests for kubectl and kustomize: files in deploy that Helm renders
// from deploy/helm/examples.
var rendered = []struct {
	path string
	from []rendering
}{
	{"kubernetes/syncd.yaml", []rendering{{"syncd", "reader", nil}}},
	{"kubernetes/fleet.yaml", []rendering{{"syncd-publisher", "publisher", nil}, {"syncd-follower", "follower", nil}}},
	{"kustomize/base/workload.yaml", []rendering{{"syncd", "mirror", []string{"--show-only=templates/service.yaml", "--show-only=templates/workload.yaml"}}}},
	{"kustomize/monitoring/monitoring.yaml", []rendering{{"syncd", "mirror", []string{
		"--set=podMonitor.enabled=true,prometheusRule.enabled=true", "--show-only=templates/podmonitor.yaml", "--show-only=templates/prometheusrule.yaml",
	}}}},
	{"kustomize/network-policy/network-policy.yaml", []rendering{{"syncd", "mirror", []string{"--set=networkPolicy.enabled=true", "--show-only=templates/networkpolicy.yaml"}}}},
}

type rendering struct {
	release, example string
	args             []string
}

var source = regexp.MustCompile(`(?m)^# Source: .*\n`)

// text returns the example's own comment and what Helm makes of it.
func (r rendering) text(t *testing.T) string {
	t.Helper()
	path := "examples/" + r.example + ".yaml"
	example, err := os.ReadFile(path)
	must(t, err)
	var comment strings.Builder
	for line := range strings.Lines(string(example)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		comment.WriteString(line)
	}
	out, err := helm(append([]string{"template", r.release, "syncd", "--values", path}, r.args...)...)
	must(t, err)
	return comment.String() + source.ReplaceAllString(string(out), "")
}

// TestManifestsAreRendered compares the manifests with the chart. With SYNCD_UPDATE_DOCS=1
// it writes them.
func TestManifestsAreRendered(t *testing.T) {
	const head = "# Rendered from deploy/helm by `make chart`.\n"
	texts := map[string]string{}
	for _, file := range rendered {
		texts[file.path] = head
		for _, r := range file.from {
			texts[file.path] += r.text(t)
		}
	}
	// A file of its own, so that kustomize names the ConfigMap by its content.
	mirror := decode(t, []byte(rendering{"syncd", "mirror", nil}.text(t)))
	texts["kustomize/base/syncd.yaml"] = head + mirror.config.Data["syncd.yaml"]
	for name, want := range texts {
		path := filepath.Join("..", name)
		if os.Getenv("SYNCD_UPDATE_DOCS") != "" {
			must(t, os.WriteFile(path, []byte(want), 0o644))
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not current: run `make chart` (%v)", name, err)
		}
	}
}

// The publisher's and the followers' configurations are valid, and fit together: the
// followers ask the address that the publisher's links begin with.
func TestFleetFitsTogether(t *testing.T) {
	text := func(release, example string) *objects {
		o := decode(t, []byte(rendering{release, example, nil}.text(t)))
		checkPods(t, o)
		checkConfig(t, o)
		return o
	}
	publisher, follower := text("syncd-publisher", "publisher"), text("syncd-follower", "follower")
	address := "https://" + publisher.service.Name + ":9443"
	if served := publisher.config.Data["syncd.yaml"]; !strings.Contains(served, "public_url: "+address+"\n") {
		t.Error(served)
	}
	if asked := follower.config.Data["syncd.yaml"]; !strings.Contains(asked, "url: "+address+"\n") {
		t.Error(asked)
	}
}

// TestKustomize builds an overlay as docs/kubernetes.md shows it.
func TestKustomize(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"customer_id":        "CID-kustomize\n",
		"syncd.yaml":         "source: {url: \"https://mine.example.net\"}\n",
		"kustomization.yaml": documented(t, "# kustomization.yaml\n")[0],
	} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	must(t, os.CopyFS(filepath.Join(folder, "deploy/kustomize"), os.DirFS("../kustomize")))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	must(t, err)
	text, err := built.AsYaml()
	must(t, err)
	o := decode(t, text)
	checkPods(t, o)
	volumes := o.pod().Spec.Volumes
	if volumes[0].ConfigMap.Name != o.config.Name || volumes[1].Secret.SecretName != o.secret.Name || o.config.Name == "syncd" {
		t.Errorf("the pod mounts %+v, the ConfigMap is %s and the Secret %s", volumes, o.config.Name, o.secret.Name)
	}
	if !strings.Contains(o.config.Data["syncd.yaml"], "mine.example.net") || o.pod().Spec.Containers[0].Image != "mine.example.net/syncd:1" || o.policy.Namespace != "data" || o.rules == nil || o.monitor == nil {
		t.Errorf("%s", text)
	}
}

// documented returns the blocks of docs/kubernetes.md that begin so.
func documented(t *testing.T, first string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubernetes.md")
	must(t, err)
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(m[1], first) {
			blocks = append(blocks, m[1])
		}
	}
	return blocks
}

// TestValuesOfTheDocument renders what docs/kubernetes.md shows.
func TestValuesOfTheDocument(t *testing.T) {
	all := documented(t, "# values.yaml\n")
	if len(all) < 6 {
		t.Errorf("found %d blocks", len(all))
	}
	for _, values := range all {
		o, _ := render(t, "syncd", values)
		checkPods(t, o)
		checkConfig(t, o)
	}
}

// TestRulesAreThoseOfPrometheus compares each PrometheusRule with its file.
func TestRulesAreThoseOfPrometheus(t *testing.T) {
	for name, values := range map[string]string{"syncd.rules.yml": "{enabled: true}", "syncd.fleet.rules.yml": "{fleet: true}"} {
		text, err := os.ReadFile("../prometheus/" + name)
		must(t, err)
		copied, err := os.ReadFile("syncd/files/" + name)
		must(t, err)
		if !bytes.Equal(text, copied) {
			t.Errorf("deploy/helm/syncd/files/%[1]s is not deploy/prometheus/%[1]s: run `make chart`", name)
		}
		var want monitoring.PrometheusRuleSpec
		must(t, yaml.UnmarshalStrict(text, &want))
		o, _ := render(t, "syncd", small+"prometheusRule: "+values+"\n")
		if len(want.Groups) == 0 || !equality.Semantic.DeepEqual(want, o.rules.Spec) {
			t.Errorf("the PrometheusRule of %s has other rules: %+v", name, o.rules.Spec)
		}
	}
}

// TestTheChartHasTheVersionOfTheChangelog compares with the newest heading.
func TestTheChartHasTheVersionOfTheChangelog(t *testing.T) {
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	must(t, err)
	newest := regexp.MustCompile(`(?m)^## ([0-9.]+)`).FindSubmatch(changelog)
	if newest == nil || string(newest[1]) != version(t) {
		t.Errorf("Chart.yaml has the version %s, the changelog %s", version(t), newest)
	}
}

func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("syncd/Chart.yaml")
	must(t, err)
	var chart struct{ Version, AppVersion string }
	must(t, yaml.Unmarshal(text, &chart))
	if chart.Version != chart.AppVersion {
		t.Errorf("%+v", chart)
	}
	return chart.Version
}

// The sidecar's script runs its command for each swap, and again after a failure.
func TestTheSidecarRunsItsCommandForEachSwap(t *testing.T) {
	o, dir := decode(t, []byte(rendering{"syncd", "reader", nil}.text(t))), t.TempDir()
	containers := o.pod().Spec.Containers
	command := containers[len(containers)-1].Command
	script := o.config.Data["watch-current"]
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
