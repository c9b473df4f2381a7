require_relative '../app/settings'

port Settings::PORT, Settings::HOST
environment 'production'
threads Settings::THREADS, Settings::THREADS
workers Settings::WORKERS if Settings::WORKERS > 1
preload_app! false # each worker connects to its databases
persistent_timeout 65 # longer than the 60 s of most load balancers
force_shutdown_after 8 # and up to 6 s for a thread that is still sending
worker_shutdown_timeout 10
