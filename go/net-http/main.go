package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/go-playground/validator/v10"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/joho/godotenv/autoload" // reads .env; what is set already wins
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type settings struct {
	Host             string `env:"HOST" envDefault:"127.0.0.1" validate:"ip|hostname_rfc1123"`
	Port             int    `env:"PORT" envDefault:"8000" validate:"port"`
	MongoDBURL       string `env:"MONGODB_URL" envDefault:"mongodb://127.0.0.1:27017/refservers"`
	MongoDBPoolSize  uint64 `env:"MONGODB_POOL_SIZE" envDefault:"100" validate:"min=1"`
	DatabaseURL      string `env:"DATABASE_URL" envDefault:"postgresql://refservers@127.0.0.1:5432/refservers"`
	DatabasePoolSize int32  `env:"DATABASE_POOL_SIZE" envDefault:"10" validate:"min=1"`
	FilesDir         string `env:"FILES_DIR" validate:"dir"`
	SlowAPIURL       string `env:"SLOW_API_URL" validate:"http_url"`
}

var validate = validator.New(validator.WithRequiredStructEnabled())

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	validate.RegisterTagNameFunc(func(field reflect.StructField) string {
		return cmp.Or(field.Tag.Get("env"), field.Tag.Get("json"))
	})
	if err := run(); err != nil {
		slog.Error("stopped", "cause", err)
		os.Exit(1)
	}
}

func run() error {
	settings, err := env.ParseAs[settings]()
	if err := errors.Join(err, validate.Struct(settings)); err != nil {
		return err
	}
	s, err := newServer(settings)
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr:           net.JoinHostPort(settings.Host, strconv.Itoa(settings.Port)),
		Handler:        s.routes(),
		ReadTimeout:    10 * time.Second, // for the head, too
		IdleTimeout:    75 * time.Second, // longer than the 60 s of most load balancers
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelError),
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	slog.Info("starting", "address", server.Addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

type server struct {
	mongodb     *mongo.Database
	postgresql  *pgxpool.Pool
	files       *os.Root
	upstream    http.RoundTripper
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
		mongodb:     client.Database(databaseName.ReplaceAllString(settings.MongoDBURL, "$1")),
		postgresql:  pool,
		files:       files,
		upstream:    transport,
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
