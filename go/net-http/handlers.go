package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"golang.org/x/sync/errgroup"
)

const databaseTimeout = 4 * time.Second

func unknown(w http.ResponseWriter, r *http.Request) error { return notFound }

func (s *server) index(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := io.WriteString(w, "Hello, World!")
	return err
}

func (s *server) hello(w http.ResponseWriter, r *http.Request) error {
	return answer(w, map[string]string{"message": "Hello, World!"})
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
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Second))
	note := note{ID: bson.NewObjectID()}
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, 1<<20), &note.Content)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
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
	return writeJSON(w, "application/json", http.StatusCreated, note)
}

func (s *server) readNote(w http.ResponseWriter, r *http.Request) error {
	id, err := bson.ObjectIDFromHex(r.PathValue("id"))
	if err != nil {
		return notFound
	}
	return s.find(w, r, "notes", bson.M{"_id": id}, &note{})
}

// find answers with a document, decoded into result.
func (s *server) find(w http.ResponseWriter, r *http.Request, collection string, filter bson.M, result any) error {
	ctx, cancel := context.WithTimeout(r.Context(), databaseTimeout)
	defer cancel()
	err := s.mongodb.Collection(collection).FindOne(ctx, filter).Decode(result)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return notFound
	}
	if err != nil {
		return err
	}
	return answer(w, result)
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
	return answer(w, agents)
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
	// A deadline would be that of the whole download: the timer is for its start.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	timer := time.AfterFunc(databaseTimeout, cancel)
	stream, err := s.mongodb.GridFSBucket().OpenDownloadStreamByName(ctx, r.PathValue("name"))
	timer.Stop()
	if errors.Is(err, mongo.ErrFileNotFound) {
		return notFound
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	mediaType, ok := stream.GetFile().Metadata.Lookup("contentType").StringValueOK()
	if !ok {
		mediaType = "application/octet-stream"
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.FormatInt(stream.GetFile().Length, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	if sent, err := io.Copy(w, stream); sent == 0 || err == nil {
		return err
	} else if r.Context().Err() == nil {
		slog.Error("response cut", "path", r.URL.Path, "cause", err)
	}
	panic(http.ErrAbortHandler) // ends the connection
}

func (s *server) sleep(w http.ResponseWriter, r *http.Request) error {
	ms, err := integer(r, "ms", 0, 30_000, 1000)
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-r.Context().Done():
	}
	return answer(w, map[string]int{"slept_ms": ms})
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
		group.Go(func() (err error) {
			query := url.Values{"call": {strconv.Itoa(call)}, "ms": {strconv.Itoa(ms)}}
			results[call], err = s.callUpstream(ctx, query, r.Header.Get("X-Request-Id"))
			return err
		})
	}
	if err := group.Wait(); errors.Is(err, context.DeadlineExceeded) {
		return fail(http.StatusGatewayTimeout, "", err)
	} else if err != nil {
		return fail(http.StatusBadGateway, "", err)
	}
	return answer(w, map[string]any{"results": results})
}

func (s *server) callUpstream(ctx context.Context, query url.Values, id string) (result jsontext.Value, err error) {
	request, err := http.NewRequestWithContext(ctx, "GET", s.upstreamURL+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if id != "" {
		request.Header.Set("X-Request-Id", id)
	}
	response, err := s.upstream.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	err = json.UnmarshalRead(response.Body, &result)
	if err == nil && (response.StatusCode != http.StatusOK || result.Kind() != '{') {
		err = fmt.Errorf("the upstream answered %s, or no JSON object", response.Status)
	}
	return result, err
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

func answer(w http.ResponseWriter, value any) error {
	return writeJSON(w, "application/json", http.StatusOK, value)
}
