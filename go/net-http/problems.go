package main

import (
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

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
	if err == nil || r.Context().Err() != nil { // the client has left
		return
	}
	var p problem
	if isAway(err) {
		p = fail(http.StatusServiceUnavailable, "", err)
	} else if !errors.As(err, &p) {
		p = fail(http.StatusInternalServerError, "", err)
	}
	if p.Status >= 500 {
		slog.Error("request failed", "path", r.URL.Path, "status", p.Status, "cause", p.cause)
	}
	w.Header().Del("Content-Length")
	writeJSON(w, "application/problem+json", p.Status, p)
}

// isAway tells a database that is out of reach, starting, stopping, full or late from other errors.
func isAway(err error) bool {
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		return strings.HasPrefix(refused.Code, "57P0") || refused.Code == "53300"
	}
	var connecting *pgconn.ConnectError
	var broken *net.OpError
	return errors.As(err, &connecting) || errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || mongo.IsTimeout(err) || mongo.IsNetworkError(err)
}

func writeJSON(w http.ResponseWriter, mediaType string, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	w.Write(body)
	return nil
}
