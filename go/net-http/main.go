package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/go-playground/validator/v10"
	_ "github.com/joho/godotenv/autoload" // reads .env; what is set already wins
)

type settings struct {
	Host             string `env:"HOST" envDefault:"127.0.0.1"`
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
		Addr:              net.JoinHostPort(settings.Host, strconv.Itoa(settings.Port)),
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       75 * time.Second, // longer than the 60 s of most load balancers
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelError),
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
