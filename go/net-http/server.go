package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// server holds what its handlers depend on.
type server struct {
	mongodb     *mongo.Database
	postgresql  *pgxpool.Pool
	files       *os.Root
	upstream    *http.Client
	upstreamURL string
}

// url.Parse refuses a connection string with several hosts.
var databaseName = regexp.MustCompile(`^[^/]*//[^/]*/?([^?]*).*`)

// newServer waits for no connection: endpoints that need no database are served without one.
func newServer(settings settings) (*server, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(settings.MongoDBURL).
		SetMaxPoolSize(settings.MongoDBPoolSize).
		SetConnectTimeout(3 * time.Second).
		SetServerSelectionTimeout(3 * time.Second))
	if err != nil {
		return nil, fmt.Errorf("MONGODB_URL: %w", err)
	}
	config, err := pgxpool.ParseConfig(settings.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	config.MaxConns = settings.DatabasePoolSize
	config.ConnConfig.ConnectTimeout = 3 * time.Second
	pool, poolErr := pgxpool.NewWithConfig(context.Background(), config)
	files, err := os.OpenRoot(settings.FilesDir)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 1000, 1000
	return &server{
		mongodb:    client.Database(databaseName.ReplaceAllString(settings.MongoDBURL, "$1")),
		postgresql: pool,
		files:      files,
		upstream: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		upstreamURL: settings.SlowAPIURL,
	}, errors.Join(poolErr, err)
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /index", handler(s.index))
	mux.Handle("GET /json", handler(s.hello))
	mux.Handle("GET /mongo", handler(s.article))
	mux.Handle("POST /notes", handler(s.createNote))
	mux.Handle("GET /notes/{id}", handler(s.readNote))
	mux.Handle("GET /agents", handler(s.agents))
	mux.Handle("GET /files/{name}", handler(s.file))
	mux.Handle("GET /gridfs/{name}", handler(s.gridfs))
	mux.Handle("GET /sleep", handler(s.sleep))
	mux.Handle("GET /slow_api", handler(s.slowAPI))
	mux.Handle("GET /", handler(unknown)) // with another method, a 405 of ServeMux's own
	return mux
}
