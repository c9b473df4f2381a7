package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// start returns a server with the settings of the environment, which change may change.
func start(t *testing.T, change func(*settings)) *server {
	t.Helper()
	settings, err := env.ParseAs[settings]()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&settings)
	}
	s, err := newServer(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.postgresql.Close()
		s.mongodb.Client().Disconnect(context.Background())
	})
	return s
}

// ask sends a request with a JSON body, or none, to the server's routes.
func ask(s *server, method, target, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Request-Id", "mine")
	recorder := httptest.NewRecorder()
	s.routes().ServeHTTP(recorder, request)
	return recorder
}

func wantProblem(t *testing.T, response *httptest.ResponseRecorder, status int) {
	t.Helper()
	var got problem
	if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	mediaType := response.Header().Get("Content-Type")
	if response.Code != status || got.Status != status || got.Title != http.StatusText(status) ||
		got.Type != "about:blank" || mediaType != "application/problem+json" {
		t.Errorf("got %d, %s, %s; want a problem of status %d", response.Code, mediaType, response.Body, status)
	}
}

// logged returns what is logged until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &log
}

// store puts 300,000 bytes into GridFS until the test ends, and returns the file's name and id.
func store(t *testing.T, s *server) (string, bson.ObjectID) {
	t.Helper()
	bucket, name := s.mongodb.GridFSBucket(), "test-"+rand.Text()
	id, err := bucket.UploadFromStream(t.Context(), name, bytes.NewReader(make([]byte, 300_000)),
		options.GridFSUpload().SetChunkSizeBytes(100_000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Delete(context.Background(), id) })
	return name, id
}

func TestText(t *testing.T) {
	s := start(t, nil)
	for target, want := range map[string]string{
		"/index":       "text/plain; charset=utf-8: Hello, World!",
		"/json":        `application/json: {"message":"Hello, World!"}`,
		"/sleep?ms=50": `application/json: {"slept_ms":50}`,
	} {
		begin := time.Now()
		response := ask(s, "GET", target, "")
		got := response.Header().Get("Content-Type") + ": " + response.Body.String()
		if response.Code != http.StatusOK || got != want {
			t.Errorf("GET %s: got %d, %s; want %s", target, response.Code, got, want)
		}
		if strings.HasPrefix(target, "/sleep") && time.Since(begin) < 50*time.Millisecond {
			t.Errorf("GET %s took only %v", target, time.Since(begin))
		}
	}
}

func TestArticle(t *testing.T) {
	response := ask(start(t, nil), "GET", "/mongo?doc=big", "")
	if response.Code != http.StatusOK || !strings.Contains(response.Body.String(), `,"slug":"big","title":"`) {
		t.Errorf("got %d, %s", response.Code, response.Body)
	}
}

func TestNote(t *testing.T) {
	s := start(t, nil)
	long := `{"title":"` + strings.Repeat("é", 200) + `","text":"</script> \u2028😀","_id":5}`
	created := ask(s, "POST", "/notes", long)
	if created.Code != http.StatusCreated {
		t.Fatalf("got %d, %s", created.Code, created.Body)
	}
	location := created.Header().Get("Location")
	id, _ := bson.ObjectIDFromHex(strings.TrimPrefix(location, "/notes/"))
	stored := ask(s, "GET", location, "")
	if stored.Code != http.StatusOK || stored.Body.String() != created.Body.String() {
		t.Errorf("got %d, %s; want %s", stored.Code, stored.Body, created.Body)
	}
	want := fmt.Sprintf(`{"_id":"%s","title":"%s","text":"</script> `+"\u2028"+`😀"}`, id.Hex(), strings.Repeat("é", 200))
	if created.Body.String() != want {
		t.Errorf("got %s; want %s", created.Body, want)
	}
	if deleted, err := s.mongodb.Collection("notes").DeleteOne(t.Context(), bson.M{"_id": id}); err != nil || deleted.DeletedCount != 1 {
		t.Errorf("got %v, %v; want one note", deleted, err)
	}
}

func TestRefusedNote(t *testing.T) {
	s := start(t, nil)
	count := func() int64 {
		n, err := s.mongodb.Collection("notes").CountDocuments(t.Context(), bson.M{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	for body, status := range map[string]int{
		"":                                 400,
		"{":                                400,
		"[]":                               400,
		`{"title":"a"}`:                    400,
		`{"title":"","text":""}`:           400,
		`{"title":1,"text":""}`:            400,
		`{"title":"a","text":null}`:        400,
		`{"title":"\ud800","text":""}`:     400,
		`{"title":"a","text":""} {}`:       400,
		strings.Repeat("[", 100_000):       400,
		strings.Repeat(" ", 1<<20) + "   ": 413,
		`{"title":"` + strings.Repeat("a", 201) + `","text":""}`:     400,
		`{"title":"a","text":"` + strings.Repeat("a", 10_001) + `"}`: 400,
	} {
		wantProblem(t, ask(s, "POST", "/notes", body), status)
	}
	request := httptest.NewRequest("POST", "/notes", strings.NewReader(`{"title":"a","text":""}`))
	request.Header.Set("Content-Type", "text/plain")
	recorder := httptest.NewRecorder()
	s.routes().ServeHTTP(recorder, request)
	wantProblem(t, recorder, http.StatusUnsupportedMediaType)
	if after := count(); after != before {
		t.Errorf("%d notes were stored", after-before)
	}
}

func TestAgents(t *testing.T) {
	response := ask(start(t, nil), "GET", "/agents", "")
	var agents []agent
	if err := json.Unmarshal(response.Body.Bytes(), &agents); err != nil || len(agents) != 50 || agents[0].Number != "300" {
		t.Errorf("got %d, %s", response.Code, response.Body)
	}
}

func TestFiles(t *testing.T) {
	s := start(t, nil)
	photo, err := os.ReadFile(os.Getenv("FILES_DIR") + "/photo.jpg")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/files/photo.jpg", "/gridfs/photo.jpg"} {
		for method, want := range map[string][]byte{"GET": photo, "HEAD": nil} {
			response := ask(s, method, target, "")
			header := response.Header()
			if response.Code != http.StatusOK || header.Get("Content-Type") != "image/jpeg" ||
				header.Get("Content-Length") != fmt.Sprint(len(photo)) || !bytes.Equal(response.Body.Bytes(), want) {
				t.Errorf("%s %s: got %d, %v, %d bytes", method, target, response.Code, header, response.Body.Len())
			}
		}
	}
	name, _ := store(t, s) // without metadata
	response := ask(s, "GET", "/gridfs/"+name, "")
	if response.Header().Get("Content-Type") != "application/octet-stream" || response.Body.Len() != 300_000 {
		t.Errorf("got %v, %d bytes", response.Header(), response.Body.Len())
	}
}

func TestSlowAPI(t *testing.T) {
	for answer, want := range map[string]int{`{"b":1, "a":2}`: 200, "[]": 502, "{": 502, "{}{}": 502, "404": 502, "302": 502} {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/elsewhere":
				w.Write([]byte("{}"))
			case answer == "404":
				http.Error(w, "{}", http.StatusNotFound)
			case answer == "302":
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			case r.Header.Get("X-Request-Id") == "mine" && r.FormValue("ms") == "10":
				w.Write([]byte(answer))
			}
		}))
		log := logged(t)
		s := start(t, func(settings *settings) { settings.SlowAPIURL = upstream.URL })
		response := ask(s, "GET", "/slow_api?calls=2&ms=10", "")
		if want == http.StatusOK {
			if got := response.Body.String(); got != `{"results":[{"b":1,"a":2},{"b":1,"a":2}]}` {
				t.Errorf("got %s", got)
			}
		} else {
			wantProblem(t, response, want)
			if lines := strings.Count(log.String(), "\n"); lines != 1 {
				t.Errorf("%s: got %d lines in the log, want 1:\n%s", answer, lines, log)
			}
			if _, err := strconv.Atoi(answer); err == nil && !strings.Contains(log.String(), "answered "+answer) {
				t.Errorf("the log does not name status %s:\n%s", answer, log)
			}
		}
		upstream.Close()
	}
}

func TestProblems(t *testing.T) {
	s := start(t, nil)
	for target, status := range map[string]int{
		"/sleep?ms=soon": 400, "/sleep?ms=": 400, "/sleep?ms=30001": 400, "/slow_api?calls=51": 400,
		"/mongo?doc=medium": 400, "/unknown": 404, "/notes/unknown": 404, "/notes/" + strings.Repeat("0", 24): 404,
		"/gridfs/unknown": 404, "/files/unknown": 404, "/files/..%2fgo.mod": 404, "/files/%2fetc%2fpasswd": 404,
		"/files/%00": 404, "/files/.": 404,
	} {
		if response := ask(s, "GET", target, ""); response.Code != http.StatusTemporaryRedirect {
			wantProblem(t, response, status)
		}
	}
	response := ask(s, "POST", "/json", "")
	if response.Code != http.StatusMethodNotAllowed || response.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /json: got %d, %v", response.Code, response.Header())
	}
}

func TestDatabasesAreAway(t *testing.T) {
	s := start(t, func(settings *settings) {
		settings.MongoDBURL = "mongodb://127.0.0.1:1/refservers"
		settings.DatabaseURL = "postgresql://me:secret@127.0.0.1:1/refservers"
	})
	log := logged(t)
	for _, target := range []string{"/mongo", "/agents", "/gridfs/a%0Ab"} {
		begin := time.Now()
		wantProblem(t, ask(s, "GET", target, ""), http.StatusServiceUnavailable)
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("GET %s took %v", target, took)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 3 || strings.Contains(log.String(), "secret") {
		t.Errorf("got %d lines in the log, want 3 and no password:\n%s", lines, log)
	}
}

func TestStoppingMongoDB(t *testing.T) {
	for code, want := range map[int32]bool{91: true, 11600: true, 11602: true, 11000: false, 0: false} {
		if got := isAway(fmt.Errorf("find: %w", mongo.CommandError{Code: code})); got != want {
			t.Errorf("code %d: got %t", code, got)
		}
	}
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{"::1": true, "0.0.0.0": true, "localhost": true, "a.example": true, "a b": false, "[::1]": false} {
		if got := validate.StructPartial(settings{Host: host}, "Host") == nil; got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
}

func TestDatabaseNames(t *testing.T) {
	for url, want := range map[string]string{
		"mongodb://127.0.0.1:27017/refservers":       "refservers",
		"mongodb://me:p%40@a:1,b:2/other?w=majority": "other",
		"mongodb+srv://host/other":                   "other",
	} {
		if got := databaseName.ReplaceAllString(url, "$1"); got != want {
			t.Errorf("%s: got %q", url, got)
		}
	}
}
