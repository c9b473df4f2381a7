package main

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"golang.org/x/sync/errgroup"
)

const databaseTimeout = 4 * time.Second

func unknown(w http.ResponseWriter, r *http.Request) error { return notFound }

func (s *server) index(w http.ResponseWriter, r *http.Request) error {
	_, err := io.WriteString(w, "Hello, World!")
	return err
}

func (s *server) hello(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"message": "Hello, World!"})
}

func (s *server) article(w http.ResponseWriter, r *http.Request) error {
	slug := "small"
	if query := r.URL.Query(); query.Has("doc") {
		slug = query.Get("doc")
	}
	if slug != "small" && slug != "big" {
		return fail(http.StatusBadRequest, "doc must be small or big", nil)
	}
	return s.find(w, r, "articles", bson.M{"slug": slug}, &bson.D{})
}

// Content is what clients send; it is exported for the driver, which inlines no other type.
type Content struct {
	Title string  `json:"title" bson:"title" validate:"required,max=200"`
	Text  *string `json:"text" bson:"text" validate:"required,max=10000"`
}

type note struct {
	ID      bson.ObjectID `json:"_id" bson:"_id"`
	Content `bson:",inline"`
}

func (s *server) createNote(w http.ResponseWriter, r *http.Request) error {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		return fail(http.StatusUnsupportedMediaType, "", nil)
	}
	note := note{ID: bson.NewObjectID()}
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, 1<<20), &note.Content)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return fail(http.StatusRequestEntityTooLarge, "", nil)
	}
	if err := errors.Join(err, validate.Struct(note)); err != nil {
		return fail(http.StatusBadRequest, err.Error(), nil)
	}
	ctx, cancel := context.WithTimeout(r.Context(), databaseTimeout)
	defer cancel()
	if _, err := s.mongodb.Collection("notes").InsertOne(ctx, note); err != nil {
		return err
	}
	w.Header().Set("Location", "/notes/"+note.ID.Hex())
	return writeJSON(w, http.StatusCreated, note)
}

func (s *server) readNote(w http.ResponseWriter, r *http.Request) error {
	id, err := bson.ObjectIDFromHex(r.PathValue("id"))
	if err != nil {
		return notFound
	}
	return s.find(w, r, "notes", bson.M{"_id": id}, &note{})
}

func (s *server) find(w http.ResponseWriter, r *http.Request, collection string, filter bson.M, result any) error {
	ctx, cancel := context.WithTimeout(r.Context(), databaseTimeout)
	defer cancel()
	if err := s.mongodb.Collection(collection).FindOne(ctx, filter).Decode(result); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, result)
}

type agent struct {
	Number          string  `json:"number"`
	Extension       *string `json:"extension"`
	Context         *string `json:"context"`
	StateInterface  *string `json:"state_interface"`
	Status          string  `json:"status"`
	ExtensionStatus string  `json:"extension_status"`
	Paused          string  `json:"paused"`
}

const selectAgents = `
	SELECT f.number, s.extension, s.context, s.state_interface,
	       'offline' AS status, '-1' AS extension_status, '0' AS paused
	  FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id
	 ORDER BY f.number`

func (s *server) agents(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), databaseTimeout)
	defer cancel()
	rows, _ := s.postgresql.Query(ctx, selectAgents) // CollectRows returns its error
	agents, err := pgx.CollectRows(rows, pgx.RowToStructByName[agent])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, agents)
}

func (s *server) file(w http.ResponseWriter, r *http.Request) error {
	info, err := s.files.Stat(r.PathValue("name"))
	if err != nil || !info.Mode().IsRegular() { // or it leads out of the folder
		return notFound
	}
	file, err := s.files.Open(r.PathValue("name"))
	if err != nil {
		return err
	}
	defer file.Close()
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	http.ServeContent(w, r, info.Name(), info.ModTime(), file)
	return nil
}

func (s *server) gridfs(w http.ResponseWriter, r *http.Request) error {
	// Without r.Context(), the driver also closes the cursor if the client leaves, at which a write fails.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	start := time.AfterFunc(databaseTimeout, cancel) // a deadline would be that of the whole download
	stream, err := s.mongodb.GridFSBucket().OpenDownloadStreamByName(ctx, r.PathValue("name"))
	start.Stop()
	if err != nil {
		return err
	}
	defer stream.Close()
	mediaType, _ := stream.GetFile().Metadata.Lookup("contentType").StringValueOK()
	w.Header().Set("Content-Type", cmp.Or(mediaType, "application/octet-stream"))
	w.Header().Set("Content-Length", strconv.FormatInt(stream.GetFile().Length, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	sent, err := io.Copy(struct{ io.Writer }{w}, stream) // unlike ReadFrom, a failed Write ends r.Context()
	if sent > 0 && err != nil && r.Context().Err() == nil {
		slog.Error("response cut", "path", r.URL.Path, "cause", err)
		return nil // net/http closes a connection on which bytes are missing
	}
	return err
}

func (s *server) sleep(w http.ResponseWriter, r *http.Request) error {
	ms, err := integer(r, "ms", 0, 30_000, 1000)
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-r.Context().Done():
		return r.Context().Err()
	}
	return writeJSON(w, http.StatusOK, map[string]int{"slept_ms": ms})
}

func (s *server) slowAPI(w http.ResponseWriter, r *http.Request) error {
	calls, err := integer(r, "calls", 1, 50, 10)
	ms, wrong := integer(r, "ms", 0, 5000, 1000)
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(ms+5000)*time.Millisecond)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	results := make([]jsontext.Value, calls)
	for call := range calls {
		group.Go(func() error { return s.callUpstream(ctx, r.Header, call, ms, &results[call]) })
	}
	if err := group.Wait(); errors.Is(err, context.DeadlineExceeded) {
		return fail(http.StatusGatewayTimeout, "", err)
	} else if err != nil {
		return fail(http.StatusBadGateway, "", err)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"results": results})
}

func (s *server) callUpstream(ctx context.Context, header http.Header, call, ms int, result *jsontext.Value) error {
	target := fmt.Sprintf("%s?call=%d&ms=%d", s.upstreamURL, call, ms)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	request.Header["X-Request-Id"] = header["X-Request-Id"]
	response, err := s.upstream.RoundTrip(request) // follows no redirect
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the upstream answered %s", response.Status)
	}
	err = json.UnmarshalRead(response.Body, result)
	if err == nil && result.Kind() != '{' {
		err = errors.New("the upstream answered no JSON object")
	}
	return err
}

// integer is a parameter of the query, or fallback without it.
func integer(r *http.Request, name string, least, most, fallback int) (int, error) {
	query := r.URL.Query()
	if !query.Has(name) {
		return fallback, nil
	}
	value, err := strconv.Atoi(query.Get(name))
	if err != nil || value < least || value > most {
		detail := fmt.Sprintf("%s must be an integer from %d to %d", name, least, most)
		return 0, fail(http.StatusBadRequest, detail, nil)
	}
	return value, nil
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
	return nil
}

// problem is an error that clients get as problem details (RFC 9457), without its cause.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	cause  error
}

var notFound = fail(http.StatusNotFound, "", nil)

func fail(status int, detail string, cause error) problem {
	return problem{"about:blank", http.StatusText(status), status, detail, cause}
}

func (p problem) Error() string { return p.Title }

// handler answers a request, or returns why it did not.
type handler func(http.ResponseWriter, *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	if err == nil {
		return
	}
	if r.Context().Err() != nil { // the client has left, or stopped sending
		panic(http.ErrAbortHandler)
	}
	p, ok := errors.AsType[problem](err)
	if errors.Is(err, mongo.ErrNoDocuments) || errors.Is(err, mongo.ErrFileNotFound) {
		p = notFound
	} else if isAway(err) {
		p = fail(http.StatusServiceUnavailable, "", err)
	} else if !ok {
		p = fail(http.StatusInternalServerError, "", err)
	}
	if p.Status >= 500 {
		slog.Error("request failed", "path", r.URL.Path, "status", p.Status, "cause", p.cause)
	}
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	json.MarshalWrite(w, p)
}

// isAway tells a database that is out of reach, starting, stopping, full or late from other errors.
func isAway(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(refused.Code, "57P0") || refused.Code == "53300"
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[*net.OpError](err)
	refused, _ := errors.AsType[mongo.CommandError](err)
	stopping := slices.Contains([]int32{91, 11600, 11602}, refused.Code)
	return connecting || broken || stopping || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) ||
		mongo.IsTimeout(err) || mongo.IsNetworkError(err)
}
