package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestMain runs the server itself when a test starts this program as one.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_SERVER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

type process struct {
	*exec.Cmd
	url string
	log bytes.Buffer // to be read once the process has ended
}

func command(t *testing.T, environment ...string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), program)}
	p.Env = append(append(os.Environ(), "TEST_SERVER=1"), environment...)
	p.Stderr = &p.log
	return p
}

// launch starts the server as a process, and waits until it listens.
func launch(t *testing.T, environment ...string) *process {
	t.Helper()
	free := listen(t)
	address := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
	p := command(t, append(environment, "HOST=127.0.0.1", "PORT="+port)...)
	p.url = "http://" + address
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return p
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not listen")
	return nil
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func get(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", response.StatusCode, body)
}

// stop ends the process by SIGTERM, and returns its log.
func (p *process) stop(t *testing.T) string {
	t.Helper()
	p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("the process ended with %v:\n%s", err, &p.log)
	}
	return p.log.String()
}

func TestSIGTERMLetsARequestEnd(t *testing.T) {
	t.Parallel()
	p := launch(t)
	answer := make(chan string)
	go func() { answer <- get(p.url + "/sleep?ms=4000") }()
	time.Sleep(1500 * time.Millisecond)
	p.Process.Signal(syscall.SIGTERM)
	if got := <-answer; got != `200 {"slept_ms":4000}` {
		t.Errorf("got %s", got)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{
		{"PORT=12abc", "MONGODB_POOL_SIZE=0", "DATABASE_POOL_SIZE=3.5", "FILES_DIR=go.mod", "SLOW_API_URL=nonsense"},
		{"MONGODB_URL=mongodb://me:secret@host:99999/"},
		{"DATABASE_URL=postgresql://me:secret@host:99999/"},
	} {
		p := command(t, bad...)
		var exit *exec.ExitError
		if err := p.Run(); !errors.As(err, &exit) {
			t.Errorf("%v: got %v", bad, err)
		}
		for _, one := range bad {
			if name, _, _ := strings.Cut(one, "="); !strings.Contains(p.log.String(), name) {
				t.Errorf("%s is not named:\n%s", name, &p.log)
			}
		}
		if strings.Contains(p.log.String(), "secret") {
			t.Errorf("the log has the password:\n%s", &p.log)
		}
	}
}

func TestEnvFile(t *testing.T) {
	t.Parallel()
	p := command(t, "PORT=8000")
	p.Dir = t.TempDir()
	text := "PORT=70000\nDATABASE_URL='postgresql://me:se$CRET@host:99999/?a=b&c=d'\n"
	if err := os.WriteFile(filepath.Join(p.Dir, ".env"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, one := range p.Env {
		if !strings.HasPrefix(one, "DATABASE_URL=") && !strings.HasPrefix(one, "FILES_DIR=") {
			env = append(env, one)
		}
	}
	p.Env = append(env, "FILES_DIR=.")
	if err := p.Run(); err == nil || !strings.Contains(p.log.String(), "DATABASE_URL") || strings.Contains(p.log.String(), "PORT") {
		t.Errorf("got %v:\n%s", err, &p.log)
	}
}

func TestWhatItNeedsIsSilent(t *testing.T) {
	t.Parallel()
	silent := listen(t).Addr().String()
	p := launch(t, "DATABASE_URL=postgresql://me:secret@"+silent+"/refservers", "SLOW_API_URL=http://"+silent)
	late := make(chan string)
	begin := time.Now()
	go func() { late <- get(p.url + "/slow_api?calls=5&ms=0") }()
	if got := get(p.url + "/agents"); !strings.HasPrefix(got, "503 ") {
		t.Errorf("GET /agents: got %s", got)
	}
	if got := <-late; !strings.HasPrefix(got, "504 ") {
		t.Errorf("GET /slow_api: got %s", got)
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("both took %v", took)
	}
	log := p.stop(t)
	if strings.Count(log, "level=ERROR") != 2 || strings.Contains(log, "secret") {
		t.Errorf("want two errors and no password:\n%s", log)
	}
}

func TestAClientThatStopsSendingGetsNoResponse(t *testing.T) {
	t.Parallel()
	p := launch(t)
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	head := "POST /notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
	if _, err := io.WriteString(connection, head+"{"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(connection); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAMissingChunk(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	p := launch(t)
	name, id := store(t, s)
	chunks := s.mongodb.Collection("fs.chunks")
	for _, test := range []struct {
		chunk int
		want  string
	}{{2, "unexpected EOF"}, {1, "unexpected EOF"}, {0, "500 "}} {
		if _, err := chunks.DeleteOne(t.Context(), bson.M{"files_id": id, "n": test.chunk}); err != nil {
			t.Fatal(err)
		}
		if got := get(p.url + "/gridfs/" + name); !strings.HasPrefix(got, test.want) {
			t.Errorf("without chunk %d: got %.100s", test.chunk, got)
		}
	}
	if log := p.stop(t); strings.Count(log, "level=ERROR") != 3 {
		t.Errorf("want three errors:\n%s", log)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	p := launch(t)
	for _, path := range []string{"..%2fgo.mod", "%2fetc%2fpasswd", "..%5cgo.mod"} {
		if got := get(p.url + "/files/" + path); !strings.HasPrefix(got, "404 ") {
			t.Errorf("GET /files/%s: got %s", path, got)
		}
	}
	for body, want := range map[string]int{`{"title":"a","text":""}`: 201, `{"title":"","text":""}`: 400} {
		// io.MultiReader hides the length: the body is chunked.
		response, err := http.Post(p.url+"/notes", "application/json", io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("POST /notes %s: got %s", body, response.Status)
		}
		if location := response.Header.Get("Location"); location != "" {
			id, _ := bson.ObjectIDFromHex(strings.TrimPrefix(location, "/notes/"))
			if deleted, err := s.mongodb.Collection("notes").DeleteOne(t.Context(), bson.M{"_id": id}); err != nil || deleted.DeletedCount != 1 {
				t.Errorf("got %v, %v; want one note", deleted, err)
			}
		}
	}
	if log := p.stop(t); strings.Contains(log, "level=ERROR") {
		t.Errorf("want no error:\n%s", log)
	}
}
